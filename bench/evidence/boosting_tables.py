"""The page of `boosting`: the paper's tables and figures with ours beside them, and what is left of
its claims."""

import math

import numpy as np

from equal.compare import Results, main_metric
from equal.sets import SETS
from evidence.boosting import FOUR_LEVELS, ITERATIONS, METHODS, OURS, PAPER_SETS
from evidence.figures import Panel, draw, steps
from evidence.page import Page
from evidence.request import Request
from evidence.verdict import CONFIRMED, CONTRADICTED, DEFINITION, extent, pooled, verdict
from metrics import LOWER_IS_BETTER
from paired import mean_and_deviation
from table import render

NAMES = {
    "cart": "CART",
    "sklearn": "scikit-learn GBDT",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "sgbdt": "SGBDT",
    "sgbdt-bins": "SGBDT-bins",
    "psgbdt": "PSGBDT",
    "sgbdt, four levels": "SGBDT, four levels",
    "sgbdt-bins, four levels": "SGBDT-bins, four levels",
    "psgbdt, four levels": "PSGBDT, four levels",
    "psgbdt, own splits": "PSGBDT, own greedy splits",
    "swarm": "default search",
}
# Tables 9 and 10: mean and deviation of accuracy, or of RMSE in the unit of the target.
PUBLISHED_METHODS = ("cart", "sklearn", "xgboost", "catboost", "sgbdt", "sgbdt-bins", "psgbdt")
PUBLISHED = {
    "banknote": (
        (0.98, 0.01),
        (0.99, 0.01),
        (0.99, 0.01),
        (0.98, 0.02),
        (0.98, 0.02),
        (0.99, 0.01),
        (0.99, 0.01),
    ),
    "wine_class": (
        (0.70, 0.05),
        (0.74, 0.04),
        (0.74, 0.06),
        (0.74, 0.04),
        (0.74, 0.03),
        (0.74, 0.03),
        (0.75, 0.01),
    ),
    "covtype_2": (
        (0.88, 0.01),
        (0.90, 0.01),
        (0.90, 0.01),
        (0.87, 0.01),
        (0.86, 0.02),
        (0.87, 0.02),
        (0.88, 0.02),
    ),
    "higgs": (
        (0.68, 0.01),
        (0.69, 0.01),
        (0.69, 0.01),
        (0.68, 0.01),
        (0.65, 0.02),
        (0.66, 0.01),
        (0.69, 0.01),
    ),
    "wine_red": (
        (0.57, 0.05),
        (0.56, 0.04),
        (0.56, 0.05),
        (0.63, 0.05),
        (0.65, 0.04),
        (0.68, 0.01),
        (0.61, 0.01),
    ),
    "kc_house": (
        (1.89e5, 2.62e4),
        (1.83e5, 2.59e4),
        (1.77e5, 1.74e4),
        (1.85e5, 1.58e4),
        (2.04e5, 9.52e3),
        (1.82e5, 2.83e4),
        (1.76e5, 1.83e4),
    ),
    "insurance": (
        (4.24e3, 5.64e2),
        (4.18e3, 6.45e2),
        (4.33e3, 5.83e2),
        (4.74e3, 6.74e2),
        (4.13e3, 2.57e2),
        (4.85e3, 8.46e2),
        (4.21e3, 9.96e2),
    ),
}
# Table 11: distinct values, distinct bins, inner nodes of XGBoost's trees. Table 12: the sizes of
# the search spaces.
SWARMS = ("sgbdt", "sgbdt-bins", "psgbdt")
CANDIDATES = {
    "banknote": (4082, 392, 61),
    "wine_class": (1384, 831, 128),
    "covtype_2": (15044, 896, 158),
    "higgs": (469488, 2356, 181),
    "kc_house": (24768, 1054, 73),
    "insurance": (555, 148, 145),
    "wine_red": (1385, 828, 141),
}
SPACES = {
    "banknote": (4.2e86, 8.4e61, 3.7e40),
    "wine_class": (2.0e75, 8.4e69, 3.7e49),
    "covtype_2": (1.8e100, 5.3e70, 9.3e51),
    "higgs": (1.3e136, 7.6e80, 3.1e53),
    "kc_house": (2.8e105, 2.7e72, 7.3e42),
    "insurance": (4.4e65, 1.7e51, 9.9e50),
    "wine_red": (2.0e75, 7.7e69, 4.8e50),
}
TITLE = "Boosting by swarms: Rao 2022, tables 9 to 12, figures 8 and 9"
SEEDS = (
    "split k is drawn with numpy's `default_rng(k)`, 80/20; swarms have seed k; "
    "libraries have seed 0"
)
HOW_TO_READ = """Accuracy in percent, or RMSE, on the test rows: mean ± standard deviation over the
splits, and the published value. Pairs are compared by split: wins-ties-losses, and the p-value of
the two-sided Wilcoxon signed-rank test (not corrected for multiple comparisons; the splits overlap,
so it is too small)."""
LEVELS = """The text of the paper supports both readings of depth 5 for its swarms: four levels of
rules (sections 5.1 and 5.2, equation 26) and five (algorithm 4). Mean ± standard deviation over
the splits; `four / five` is by how much four levels are better, in percent of RMSE or points of
accuracy: mean ± standard error (wins-ties-losses; p). A dash is a swarm that has not been measured
yet."""


def scores(lines: list[dict]) -> Results:
    """The main metric of every cell."""
    values: dict[tuple[str, str, str], dict[int, float]] = {}
    for line in lines:
        place = (line["set"], line["contender"], main_metric(line["set"]))
        values.setdefault(place, {})[line["split"]] = line["score"]
    return Results(values)


def shown(metric: str, mean: float, deviation: float) -> str:
    """`mean ± deviation` as a table shows it."""
    if not math.isfinite(mean):
        return "-"
    if metric == "accuracy":
        mean, deviation, digits = 100 * mean, 100 * deviation, 2
    else:
        digits = 3 if mean < 10 else 2 if mean < 1000 else 0
    spread = f" ± {deviation:.{digits}f}" if math.isfinite(deviation) else ""
    return f"{mean:.{digits}f}{spread}"


def published(name: str, method: str) -> tuple[float, float]:
    """The paper's mean and deviation, if it has one, whichever its depth 5 is."""
    method = method.removesuffix(FOUR_LEVELS)
    if name not in PUBLISHED or method not in PUBLISHED_METHODS:
        return math.nan, math.nan
    return PUBLISHED[name][PUBLISHED_METHODS.index(method)]


def sets_of(results: Results) -> list[str]:
    """The paper's order first, then what else was measured."""
    measured = results.sets("regression", "binary", "multiclass")
    return [
        *(name for name in PAPER_SETS if name in measured),
        *(name for name in measured if name not in PAPER_SETS),
    ]


def accuracy_table(results: Results) -> str:
    """Tables 9 and 10, a line a set and method."""
    rows = []
    for name in sets_of(results):
        metric = main_metric(name)
        for method in METHODS:
            found = list(results.values.get((name, method, metric), {}).values())
            if not found:
                continue
            pairs = []
            for other in ("catboost", "xgboost"):
                gap = results.gap(name, method, other, metric)
                pairs += ["-", "-"] if method == other else [gap.record(), gap.chance()]
            told = [
                shown(metric, *published(name, method)),
                shown(metric, *mean_and_deviation(found)),
            ]
            rows.append([f"{name} ({len(found)})", NAMES[method], *told, *pairs])
    return render(
        ["set (splits)", "method", "published", "ours", "/ CatBoost", "p", "/ XGBoost", "p"], rows
    )


def candidates_table(lines: list[dict]) -> str:
    """Tables 11 and 12: how many rules there are to choose from, and how many ensembles of 24 of
    them."""
    rows = []
    for name in [*PAPER_SETS, *(known for known in SETS if known not in PAPER_SETS)]:
        found = [
            [line["space"] for line in lines if (line["set"], line["contender"]) == (name, method)]
            for method in SWARMS
        ]
        if not any(found):
            continue
        row = [name]
        for place, spaces in enumerate(found):
            n, power = (
                float(np.mean([space[key] for space in spaces])) if spaces else math.nan
                for key in ("n", "log10 counted")
            )
            papers = (
                CANDIDATES.get(name, [math.nan] * 3)[place],
                SPACES.get(name, [math.nan] * 3)[place],
            )
            powers = [
                f"{each:.1f}" if math.isfinite(each) else "-"
                for each in (math.log10(papers[1]), power)
            ]
            row += [
                *(f"{each:.0f}" if math.isfinite(each) else "-" for each in (papers[0], n)),
                *powers,
            ]
        rows.append(row)
    whats = ("n, published", "n", "log10 S, published", "log10 S")
    return (
        render(["set", *(f"{NAMES[method]} {what}" for method in SWARMS for what in whats)], rows)
        if rows
        else ""
    )


def flights(
    lines: list[dict], tasks: tuple[str, ...], what: str, length: int
) -> tuple[str, str] | None:
    """Figures 8 and 9: the best fitness of the swarm after each iteration, mean over the splits."""
    panels = []
    for name in (name for name in SETS if SETS[name].task in tasks):
        up = "training RMSE" if SETS[name].task == "regression" else "training accuracy"
        panel = Panel(name, "iteration", up)
        for method in (*SWARMS, "psgbdt, own splits"):
            curves = [
                line["curve"]
                for line in lines
                if (line["set"], line["contender"]) == (name, method)
            ]
            if curves:
                each = np.array(
                    [steps([tuple(step) for step in curve], length + 1) for curve in curves]
                )
                places = list(range(length + 1))
                keep = np.isfinite(each).any(axis=0)
                places, each = (
                    [place for place, kept in zip(places, keep, strict=True) if kept],
                    each[:, keep],
                )
                panel.curves[NAMES[method]] = (places, np.nanmean(each, axis=0).tolist())
                panel.bands[NAMES[method]] = (
                    np.nanmin(each, axis=0).tolist(),
                    np.nanmax(each, axis=0).tolist(),
                )
        if panel.curves:
            panels.append(panel)
    return draw(panels, what) if panels else None


def convergence_table(lines: list[dict]) -> str:
    """When the best of the swarm changed last, and how many evaluations were of positions known
    before."""
    rows = []
    for name in sorted({line["set"] for line in lines}, key=list(SETS).index):
        for method in SWARMS:
            found = [line for line in lines if (line["set"], line["contender"]) == (name, method)]
            if found:
                last = [line["curve"][-1][0] if line["curve"] else 0 for line in found]
                ended = [line["iterations"] for line in found]
                repeated = [
                    line["repeats"] / max(1, line["repeats"] + line["evaluations"])
                    for line in found
                ]
                share = f"{100 * np.mean(repeated):.0f} %"
                rows.append(
                    [
                        name,
                        NAMES[method],
                        f"{np.mean(last):.0f}",
                        f"{max(last)}",
                        f"{np.mean(ended):.0f}",
                        share,
                    ]
                )
    header = [
        "set",
        "method",
        "last improvement, mean iteration",
        "latest",
        "iterations",
        "known positions",
    ]
    return render(header, rows) if rows else ""


def levels_table(results: Results) -> str:
    """Both readings of the depth: four and five levels of rules, and their difference."""
    rows = []
    for name in sets_of(results):
        metric = main_metric(name)
        for method in SWARMS:
            told = []
            for contender in (method + FOUR_LEVELS, method):
                found = list(results.values.get((name, contender, metric), {}).values())
                told.append(shown(metric, *mean_and_deviation(found)))
            if told == ["-", "-"]:
                continue
            gap = results.gap(name, method + FOUR_LEVELS, method, metric)
            paper = shown(metric, *published(name, method))
            rows.append([name, NAMES[method], paper, *told, gap.told()])
    header = ["set", "method", "published", "four levels", "five levels", "four / five"]
    return render(header, rows) if rows else ""


def published_pairs(ours: str, others: tuple[str, ...], names: tuple[str, ...]) -> str:
    """In how many pairs the published mean of a method is better than that of the others."""
    better, pairs = 0, 0
    for name in names:
        for other in others:
            (first, _), (second, _) = (published(name, method) for method in (ours, other))
            if math.isfinite(first) and math.isfinite(second):
                is_lower = LOWER_IS_BETTER[main_metric(name)]
                better += first < second if is_lower else first > second
                pairs += 1
    return f"{better} of {pairs}" if pairs else "-"


def claim(
    results: Results, what: str, ours: str, others: tuple[str, ...], names: tuple[str, ...]
) -> list[str]:
    """A claim that one method is better than others on some sets, and what is left of it."""
    gaps = {}
    for name in names:
        for other in others:
            title = name if len(others) == 1 else f"{name} / {NAMES[other]}"
            gaps[title] = results.gap(name, ours, other, main_metric(name))
    gaps = {title: gap for title, gap in gaps.items() if len(gap.each)}
    paper, together = published_pairs(ours, others, names), pooled(gaps.values())
    if not gaps:
        return [what, paper, *["-"] * 6, verdict(together)]
    better = sum(gap.mean > 0 for gap in gaps.values())
    clear = [
        ", ".join(title for title, gap in gaps.items() if verdict(gap) == word) or "none"
        for word in (CONFIRMED, CONTRADICTED)
    ]
    told = [extent(list(gaps.values())), f"{better} of {len(gaps)}"]
    return [
        what,
        paper,
        *told,
        f"{together.mean:+.2f}",
        together.chance(),
        *clear,
        verdict(together),
    ]


def claims_table(results: Results) -> str:
    """The sentences of section 7 that compare, each judged on the sets it names."""
    rows = [
        claim(
            results,
            "PSGBDT outperforms CatBoost across all sample datasets",
            "psgbdt",
            ("catboost",),
            PAPER_SETS,
        ),
        claim(
            results,
            "PSGBDT outperforms GBDT and XGBoost on Wine, Kc_house and Insurance",
            "psgbdt",
            ("sklearn", "xgboost"),
            ("wine_class", "kc_house", "insurance"),
        ),
        claim(
            results,
            "SGBDT-bins almost always outperforms SGBDT",
            "sgbdt-bins",
            ("sgbdt",),
            PAPER_SETS,
        ),
        claim(
            results,
            "PSGBDT is the best of the three swarms",
            "psgbdt",
            ("sgbdt", "sgbdt-bins"),
            PAPER_SETS,
        ),
        claim(
            results,
            "GBDT (Sklearn) is ahead of the swarms on Higgs and Covertype",
            "sklearn",
            SWARMS,
            ("higgs", "covtype_2"),
        ),
        claim(
            results,
            "XGBoost is ahead of the swarms on Higgs and Covertype",
            "xgboost",
            SWARMS,
            ("higgs", "covtype_2"),
        ),
        claim(
            results,
            "(ours) the default search is better than CatBoost",
            "swarm",
            ("catboost",),
            PAPER_SETS,
        ),
        claim(
            results,
            "(ours) the default search is better than XGBoost",
            "swarm",
            ("xgboost",),
            PAPER_SETS,
        ),
        claim(
            results,
            "(ours) the default search is better than PSGBDT",
            "swarm",
            ("psgbdt",),
            PAPER_SETS,
        ),
    ]
    header = ["claim", "published: better mean", "splits x pairs", "better mean", "difference", "p"]
    header += ["better, p < .05", "worse, p < .05", "verdict"]
    return render(header, rows)


def tell(lines: list[dict], request: Request) -> Page:
    """The whole page."""
    page, results = Page(TITLE, SEEDS), scores(lines)
    flown = [line for line in lines if line["contender"] in OURS and "curve" in line]
    page.section("Tables 9 and 10: accuracy and RMSE", HOW_TO_READ, accuracy_table(results))
    note = """Differences are percent of RMSE, or percentage points of accuracy. A pair is a set and
a method that the claim compares with; the pairs in which the difference is significant by itself
are listed, too. Swarms have five levels of rules."""
    page.section("Claims of the paper", DEFINITION, note, claims_table(results))
    table = levels_table(results)
    page.section('Four or five levels of rules ("depth 5")', *([LEVELS, table] if table else []))
    # Raw results without the size of the table are of the time when values were binned.
    is_counted = all("table" in line["space"] for line in flown)
    searched = "all of them are searched" if is_counted else "at most 255 per feature are searched"
    note = f"""Means over the splits; `n` is the number of rules that a particle chooses from, `S =
n!/(n - r)!` with r = 24 as in the paper (6 trees, depth 5 minus one), and seven times as many for
seven classes. For SGBDT, n is the number of distinct values of the training rows as in the paper;
{searched}. For PSGBDT, the paper counts the inner nodes of the trees of
XGBoost, and we count the distinct rules among them."""
    page.section("Tables 11 and 12: candidates and search spaces", note, candidates_table(flown))
    length = max((line["iterations"] for line in flown), default=ITERATIONS)
    for tasks, name, what in (
        (("binary", "multiclass"), "figure-8.svg", "Figure 8: best training accuracy by iteration"),
        (("regression",), "figure-9.svg", "Figure 9: best training RMSE by iteration"),
    ):
        drawn = flights(flown, tasks, what, length)
        if drawn:
            page.section(
                what, "Mean over the splits; the range is shaded.", page.figure(name, drawn)
            )
    page.section("Premature convergence", convergence_table(flown))
    return page
