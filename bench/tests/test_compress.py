"""The experiment `compress`: its plan, its figures and its tables on planted answers."""

from pathlib import Path

import numpy as np

from evidence import compress
from evidence.request import Request


def request(folder: Path, **more) -> Request:
    return Request("compress", folder, folder / "cells", folder, folder / "binary", **more)


def planted(name: str, contender: str, split: int, r2: float) -> dict:
    place = {"set": name, "split": split, "size": "192", "contender": contender}
    return place | {"r2": r2, "label_loss": 2.0, "teacher_label_loss": 1.0, "leaves": 192}


def test_every_contender_is_measured_on_every_split(tmp_path):
    jobs = list(compress.plan(request(tmp_path, quick=True, repeats=2)))
    assert len(jobs) == 2 * 2 * 2 * len(compress.CONTENDERS)
    assert {job.contender for job in jobs if not job.ours} == {compress.TRUNCATED}
    only = request(tmp_path, quick=True, contenders=(compress.STUDENT,), sizes=("192",))
    assert [job.contender for job in compress.plan(only)] == [compress.STUDENT] * 2


def test_figures_have_known_values():
    wanted, target = np.array([1.0, -1.0, 3.0, -3.0]), np.array([1, 0, 1, 0])
    same = compress.figures(wanted, wanted, target, 2)
    assert same["r2"] == 1 and same["agreement"] == 1
    assert same["label_loss"] == same["teacher_label_loss"]
    mean = compress.figures(wanted, np.zeros(4), target, 1)
    assert mean["r2"] == 0 and mean["label_loss"] == np.sqrt(0.5)


def test_tables_have_means_over_splits_and_sets(tmp_path):
    lines = [
        planted(name, contender, split, value + split / 100)
        for name, value in (("kc_house", 0.9), ("abalone", 0.8))
        for contender in compress.CONTENDERS
        for split in range(3)
    ]
    table = compress.fidelity_table(lines, "192")
    assert "0.910 ± 0.006" in table and "0.810 ± 0.006" in table
    assert "mean, numbers" in table and "0.860" in table
    assert compress.fidelity_table(lines, "1024") == ""
    page = compress.tell(lines, request(tmp_path))
    assert len(page.sections) == 2


def test_greedy_students_have_the_size_of_ours():
    for size, shapes in compress.SHAPES.items():
        assert all(trees * leaves <= int(size) for trees, leaves in shapes)
