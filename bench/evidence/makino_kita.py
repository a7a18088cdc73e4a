"""The published values of Makino and Kita 2024: tables 6, 7 and 8.

Table 5 (selected parameters of the classification sets) is not in our copy of the paper, and
neither are the values of figures 3 and 4.
"""

from typing import NamedTuple

ALGORITHMS = ("SSEopt_nor", "SSEopt_rnk", "GBRT", "TPE", "CMA-ES", "Random")

# The shares of table 7 are multiples of 10 %.
REPEATS = 10

# Tables 6 and 8: mean seconds of a search, in the order of `ALGORITHMS`.
SECONDS = {
    ("mozilla4", "a"): (137.2, 132.1, 150.0, 137.0, 95.9, 80.7),
    ("mozilla4", "b"): (440.3, 384.9, 408.7, 422.1, 184.0, 179.0),
    ("eeg_eye_state", "a"): (199.4, 202.9, 203.6, 205.7, 138.0, 121.2),
    ("eeg_eye_state", "b"): (434.7, 503.9, 451.6, 526.8, 269.3, 249.4),
    ("abalone", "a"): (33.5, 35.4, 71.5, 34.3, 48.7, 49.9),
    ("abalone", "b"): (41.0, 40.5, 77.8, 58.0, 45.3, 41.9),
    ("wine_quality", "a"): (167.3, 167.3, 173.7, 146.0, 77.3, 74.7),
    ("wine_quality", "b"): (228.3, 183.6, 131.7, 250.5, 67.0, 65.5),
}


class Selected(NamedTuple):
    """A row of table 7: mean and standard deviation of learning rate, depth, minimum child weight,
    row and column shares; in range B the per cent of gbtree, gblinear and dart, and of squared and
    squared log loss."""

    numbers: tuple[tuple[float, float], ...]
    boosters: tuple[int, ...] = ()
    objectives: tuple[int, ...] = ()


# Set, range, algorithm, five times mean and deviation, and in range B the shares.
TABLE_7 = """
abalone a SSEopt_nor  0.088 0.039  4.8 1.2  9.7 6.4  0.560 0.176  0.885 0.158
abalone a SSEopt_rnk  0.096 0.069  5.1 1.8  11.4 4.9  0.505 0.181  0.900 0.107
abalone a GBRT  0.128 0.092  7.2 6.7  9.0 5.8  0.435 0.132  0.920 0.084
abalone a TPE  0.064 0.008  5.5 0.5  13.7 4.7  0.475 0.119  0.890 0.146
abalone a CMA-ES  0.050 0.013  10.2 2.6  11.8 1.6  0.520 0.229  0.850 0.107
abalone a Random  0.086 0.035  6.2 3.2  15.2 5.3  0.560 0.158  0.825 0.186
abalone b SSEopt_nor  0.110 0.059  4.6 1.5  8.6 4.5  0.635 0.112  0.855 0.137  60 0 40 100 0
abalone b SSEopt_rnk  0.090 0.062  5.0 1.5  11.1 4.6  0.525 0.127  0.815 0.155  70 0 30 100 0
abalone b GBRT  0.068 0.016  8.1 4.9  19.4 1.5  0.325 0.046  0.870 0.110  40 0 60 100 0
abalone b TPE  0.068 0.016  5.9 1.5  11.6 4.3  0.515 0.105  0.725 0.212  50 0 50 100 0
abalone b CMA-ES  0.054 0.030  9.7 3.2  10.9 1.7  0.545 0.104  0.810 0.173  70 0 30 100 0
abalone b Random  0.086 0.040  5.3 3.1  9.8 5.4  0.570 0.138  0.745 0.149  50 0 50 100 0
wine_quality a SSEopt_nor  0.074 0.016  16.5 1.6  2.4 1.2  0.905 0.076  0.585 0.123
wine_quality a SSEopt_rnk  0.070 0.013  17.6 1.6  2.1 0.8  0.885 0.112  0.585 0.143
wine_quality a GBRT  0.070 0.013  18.7 1.4  1.6 1.2  0.955 0.047  0.540 0.073
wine_quality a TPE  0.068 0.010  18.0 2.3  1.7 0.9  0.910 0.094  0.585 0.074
wine_quality a CMA-ES  0.136 0.033  12.0 1.4  9.6 2.2  0.920 0.093  0.640 0.097
wine_quality a Random  0.086 0.027  18.2 1.7  3.4 2.8  0.890 0.089  0.740 0.184
wine_quality b SSEopt_nor  0.088 0.035  17.4 2.1  2.8 1.3  0.910 0.086  0.590 0.086  40 0 60 100 0
wine_quality b SSEopt_rnk  0.070 0.013  17.4 2.3  1.9 0.5  0.860 0.092  0.700 0.124  50 0 50 100 0
wine_quality b GBRT  0.074 0.016  18.1 2.0  2.0 1.3  0.920 0.095  0.585 0.095  60 0 40 100 0
wine_quality b TPE  0.074 0.016  16.0 2.4  1.9 0.8  0.840 0.109  0.675 0.135  60 0 40 100 0
wine_quality b CMA-ES  0.132 0.032  10.6 1.7  9.3 3.3  0.875 0.117  0.730 0.140  50 0 50 100 0
wine_quality b Random  0.100 0.024  15.8 2.5  4.6 2.3  0.820 0.169  0.635 0.116  40 0 60 100 0
"""


def selected() -> dict[tuple[str, str, str], Selected]:
    """Table 7 by set, range and algorithm."""
    table = {}
    for name, search, algorithm, *values in map(str.split, TABLE_7.strip().splitlines()):
        pairs = [float(value) for value in values[:10]]
        shares = tuple(map(int, values[10:]))
        numbers = tuple(zip(pairs[::2], pairs[1::2], strict=True))
        table[name, search, algorithm] = Selected(numbers, shares[:3], shares[3:])
    return table


SELECTED = selected()
