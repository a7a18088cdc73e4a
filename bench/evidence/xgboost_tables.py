"""The page of `tuning-xgboost`: claims, figures 3 and 4, and tables 1 and 5 to 8, the published
values beside ours."""

import math
from collections import Counter

from scipy.stats import kendalltau

from evidence.makino_kita import ALGORITHMS, SECONDS, SELECTED
from evidence.page import Page
from evidence.request import Request
from evidence.tuning import task_of
from evidence.tuning_tables import curves, titled
from evidence.verdict import DEFINITION
from evidence.xgboost_claims import (
    LIBRARIES,
    MIN_SEEDS,
    OURS,
    Results,
    claims_table,
    score_claims,
    seconds_of,
    time_claims,
)
from evidence.xgboost_tuning import (
    BOOSTERS,
    NUMBERS,
    OBJECTIVES,
    POPULATION,
    SELECTION_SEEDS,
    TUNERS,
    Task,
    budget_of,
    cells_of,
    selected_setting,
    selection_scores,
    settings_of,
)
from paired import mean_and_deviation
from table import number, render

TITLE = "Tuning XGBoost, as published: Makino and Kita 2024, figures 3 and 4, tables 5 to 8"
SEEDS = (
    "seed k draws the split into training and test rows and the engine's own randomness; "
    f"settings are selected on seeds below {SELECTION_SEEDS}, results are those of the others"
)
LIBRARY_NAMES = {"swarmwood": "ours", "optuna": "Optuna", "skopt": "scikit-optimize"}
PROTOCOL = """Four full sets, 80 % of the rows for training and 20 % for the score (accuracy or
R²), by which configurations are selected (eqs. 29 and 30): the scores are those of the rows that
were tuned on, as in the paper. {trials} trials of {trees} trees per search, SSEopt with populations
of {population}; the paper states neither the trials nor the population. XGBoost has one thread,
seed 0, and the base score 0.5 of its versions before 2, which were current when the paper was
submitted; splits are searched in histograms, the default since version 2, and not exactly, which
takes two to five times as long. `dart` drops no tree by default. Range A has XGBoost's
objective of the task, range B the two of table 4, for classification too, with the threshold 0.5.
Our `tpe`, `cmaes` and `gbrt` have their default settings. The table of [our own
protocol](../tuning/summary.md) has scores on rows that no trial has seen."""
VERDICTS = f"""Equality cannot be confirmed in this way, only contradicted. There is no verdict with
fewer than {MIN_SEEDS} seeds of a task."""


def name_of(tuner: str) -> str:
    known = TUNERS[tuner]
    return f"{known.algorithm} ({LIBRARY_NAMES[known.library]})"


def settings_table(cells: dict, request: Request) -> str:
    """Table 1: the selected settings, or how many cells of the selection are measured."""
    tasks = sorted({key[:2] for key in cells})
    rows = []
    for tuner in TUNERS:
        settings = settings_of(request, tuner)
        if len(settings) == 1:
            continue
        row = [name_of(tuner), ", ".join(settings)]
        for task in tasks:
            chosen = selected_setting(cells, request, task, tuner)
            scores = selection_scores(cells, request, task, tuner)
            done = sum(len(found) for found in scores.values())
            row.append(chosen or f"{done} of {len(settings) * SELECTION_SEEDS} cells")
        rows.append(row)
    return render(["engine", "settings", *map(titled, tasks)], rows) if tasks else ""


def seeds_told(results: Results, tasks: list[Task]) -> str:
    """How many seeds the means of some tasks rest on."""
    counts = [f"{titled(task)} {len(results.common(task))}" for task in tasks]
    return f"Seeds of every engine: {', '.join(counts)}." if counts else ""


def scores_table(results: Results) -> str:
    """Mean ± deviation of the best score over the seeds that all engines have."""
    rows = []
    for tuner in results.tuners:
        row = [name_of(tuner)]
        for task in results.tasks:
            found = results.of(task, tuner)
            scores = [found[seed]["tuned"] for seed in results.common(task) if found]
            mean, spread = mean_and_deviation(scores)
            row.append(f"{mean:.4f} ± {number(spread, 2)}" if scores else "-")
        rows.append(row)
    return render(["engine", *map(titled, results.tasks)], rows) if rows else ""


def shares(values: list[str], known: tuple[str, ...]) -> str:
    """Per cent of each of the known values."""
    counts = Counter(values)
    return "/".join(f"{100 * counts[value] / len(values):.0f}" for value in known)


def selected_table(results: Results, tasks: list[Task]) -> str:
    """Tables 5 and 7: mean ± deviation of the parameters, the published ones in brackets."""
    rows = []
    for task in tasks:
        for tuner in (name for name in results.tuners if results.of(task, name)):
            found = [cell["parameters"] for cell in results.of(task, tuner).values()]
            paper = SELECTED.get((*task, TUNERS[tuner].algorithm))
            row = [f"{titled(task)} {name_of(tuner)}", str(len(found))]
            for place, name in enumerate(NUMBERS):
                mean, spread = mean_and_deviation([float(one[name]) for one in found])
                told = f"{number(mean, 3)} ± {number(spread, 2)}"
                if paper:
                    told += " ({:g} ± {:g})".format(*paper.numbers[place])
                row.append(told)
            for name, known, published in (
                ("booster", BOOSTERS, paper.boosters if paper else ()),
                ("objective", OBJECTIVES, paper.objectives if paper else ()),
            ):
                told = shares([one[name] for one in found], known) if name in found[0] else "-"
                row.append(told + (f" ({'/'.join(map(str, published))})" if published else ""))
            rows.append(row)
    header = ["task, engine", "seeds", *NUMBERS]
    header += ["% gbtree/gblinear/dart", "% squared/squared log"]
    return render(header, rows) if rows else ""


def seconds_table(results: Results, tasks: list[Task]) -> str:
    """Tables 6 and 8: mean seconds, the published ones below, and how alike their orders are."""
    rows = []
    for task in tasks:
        seeds = results.common(task)
        for title, names in (("libraries of the paper", LIBRARIES), ("our engines", OURS)):
            means = {}
            for algorithm in ALGORITHMS:
                found = results.of(task, names[algorithm])
                if found and seeds:
                    times = [seconds_of(found[seed]) for seed in seeds]
                    means[algorithm] = mean_and_deviation(times)
            if not means:
                continue
            row = [f"{titled(task)} {title}", str(len(seeds))]
            for algorithm in ALGORITHMS:
                mean, spread = means.get(algorithm, (math.nan, math.nan))
                told = f"{number(mean, 3)} ± {number(spread, 2)}"
                row.append(told if algorithm in means else "-")
            row.append(likeness(task, {name: mean for name, (mean, _) in means.items()}))
            rows.append(row)
        if task in SECONDS:
            rows.append([f"{titled(task)} published", "", *map(str, SECONDS[task]), ""])
    return render(["task", "seeds", *ALGORITHMS, "Kendall's tau"], rows) if rows else ""


def likeness(task: Task, means: dict[str, float]) -> str:
    """Kendall's tau of the published times and ours."""
    if task not in SECONDS or len(means) < len(ALGORITHMS):
        return "-"
    return f"{kendalltau(SECONDS[task], [means[name] for name in ALGORITHMS]).statistic:+.2f}"


def shares_table(results: Results) -> str:
    """How much of the time the engines take, and how many of their trials are new."""
    rows = []
    for tuner in results.tuners:
        found = [cell for task in results.tasks for cell in results.of(task, tuner).values()]
        total = sum(map(seconds_of, found))
        engine = sum(cell["engine_seconds"] for cell in found)
        distinct = sum(cell["distinct"] for cell in found) / sum(cell["trials"] for cell in found)
        rows.append([name_of(tuner), f"{100 * engine / total:.1f}", f"{100 * distinct:.0f}"])
    return render(["engine", "% of the time", "% distinct trials"], rows) if rows else ""


def figure(page: Page, results: Results, of: int, tasks: list[Task], metric: str, trials: int):
    """Figure 3 or 4: the mean best score after each trial, over the seeds that all have."""
    cells = {
        (*task, seed, name_of(tuner)): results.of(task, tuner)[seed]
        for task in tasks
        for tuner in results.tuners
        if results.of(task, tuner)
        for seed in results.common(task)
    }
    names = [name_of(tuner) for tuner in results.tuners]
    drawn = curves(cells, tasks, names, f"Figure {of}: mean best {metric} by trials", trials)
    if drawn:
        shown = page.figure(f"figure-{of}.svg", drawn)
        title = f"Figure {of}: mean best {metric} after each trial"
        page.section(title, seeds_told(results, tasks), shown)


def tell(lines: list[dict], request: Request) -> Page:
    """The whole page."""
    page, cells = Page(TITLE, SEEDS), cells_of(lines, request)
    results, (trials, trees) = Results(cells, request), budget_of(request)
    page.section("Protocol", PROTOCOL.format(trials=trials, trees=trees, population=POPULATION))

    table = claims_table(results, score_claims())
    page.section("Claims of the paper", DEFINITION, VERDICTS, table)
    note = "Differences are ratios of processor times, geometric means."
    page.section("Claims on computation time", note, claims_table(results, time_claims()))

    note = "The setting with the best mean score on the seeds of the selection, for each task."
    table = settings_table(cells, request)
    page.section("Table 1: selected settings", *([note, table] if table else []))

    by_task = {
        kind: [task for task in results.tasks if task_of(task[0]) == kind]
        for kind in ("classification", "regression")
    }
    figure(page, results, 3, by_task["classification"], "accuracy", trials)
    figure(page, results, 4, by_task["regression"], "R²", trials)
    if results.tasks:
        told = seeds_told(results, results.tasks)
        page.section("Best score: mean ± standard deviation", told, scores_table(results))

    note = "Published values are in brackets. Table 5 is not in our copy of the paper."
    for of, kind in ((5, "classification"), (7, "regression")):
        table = selected_table(results, by_task[kind])
        page.section(f"Table {of}: selected parameters", *([note, table] if table else []))
    note = """Processor seconds of a search on one thread, repeated configurations counted each
time; mean ± standard deviation. Kendall's tau compares the order of the engines with the published
one."""
    for of, kind in ((6, "classification"), (8, "regression")):
        table = seconds_table(results, by_task[kind])
        page.section(f"Table {of}: time of a search", *([note, table] if table else []))
    page.section("Time of the engines themselves", shares_table(results))
    return page
