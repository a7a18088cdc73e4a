"""The picture of the README: six sets of the page small-models.

python bench/picture.py docs/results/small-models/raw.csv docs/accuracy-and-size.svg
"""

import csv
import sys
from pathlib import Path

from equal.compare import Results
from equal.contenders import SIZES
from evidence import frontier

# Three sets of numbers and three of classes: two where the search helps much, two where it helps a
# little, one where it makes no difference and one where it is behind.
SHOWN = ("kc_house", "abalone", "wine_quality", "covtype_2", "higgs", "banknote")


def results_of(path: Path) -> dict[str, Results]:
    """The results of the sets that are shown, by size."""
    values: dict[str, dict] = {size: {} for size in SIZES if SIZES[size].trees}
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if line["set"] in SHOWN and line["size"] in values:
                key = (line["set"], line["contender"], line["quantity"])
                found = values[line["size"]].setdefault(key, {})
                found[int(line["split"])] = float(line["value"])
    return {size: Results(found) for size, found in values.items() if found}


def main(source: str, target: str) -> None:
    drawn = frontier.draw_frontiers(frontier.on_common_splits(results_of(Path(source))))
    if drawn is None:
        raise SystemExit(f"{source} has none of {', '.join(SHOWN)}")
    _, svg = drawn
    Path(target).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
