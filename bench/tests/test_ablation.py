"""The pages of `ablation` and `iris` on planted cells."""

from evidence import ablation, ablation_tables, iris
from evidence.request import Request


def request(folder, **more):
    return Request("ablation", folder, folder, folder, folder, **more)


def line(name, split, contender, score):
    place = {"set": name, "split": split, "size": ablation.SIZE, "contender": contender}
    found = {"fitness": 0.9, "evaluations": 5000, "iterations": 100, "seconds": 1.0}
    return place | {"limit": None, "build": "", "score": score} | found


def test_every_variant_is_compared_with_a_published_method():
    for variant, (base, flags) in ablation.VARIANTS.items():
        assert base in ("psgbdt", "sgbdt"), variant
        assert flags[0] == "--method"


def test_the_page_tells_whatever_there_is(tmp_path):
    assert "No cell" in "".join(ablation_tables.tell([], request(tmp_path)).sections)
    lines = [line("banknote", split, "psgbdt", 0.90 + 0.01 * split) for split in range(6)]
    better = [
        line("banknote", split, "psgbdt, adaptive", 0.92 + 0.01 * split) for split in range(6)
    ]
    lines += better
    # Of errors, less is better; this variant has one split, the published method none.
    lines += [line("insurance", 0, "sgbdt, mutation", 4000.0)]
    text = "\n".join(ablation_tables.tell(lines, request(tmp_path)).sections)
    rows = [[part.strip() for part in row.split("|")[1:-1]] for row in text.splitlines()]
    by_name = {row[0]: row for row in rows if len(row) == 9}
    assert by_name["psgbdt, adaptive"][2:5] == ["6", "+2.00 ± 0.00", "6-0-0"]
    assert by_name["psgbdt"][3] == "-"
    assert by_name["sgbdt, mutation"][1:4] == ["4000", "1", "-"]
    over = {row[0]: row[1:] for row in rows if len(row) == 10}
    counts = ["psgbdt", "6 x 1", "1", "1", "0", "0"]
    assert over["psgbdt, adaptive"] == [*counts, "+2.00", "0.031", "confirmed"]
    assert "sgbdt, mutation" not in over


def test_gains_in_errors_are_percent_of_the_published_error():
    lines = [line("insurance", 0, "sgbdt", 5000.0), line("insurance", 0, "sgbdt, mutation", 4000.0)]
    assert abs(ablation_tables.gain(lines, "insurance", "sgbdt, mutation").mean - 20.0) < 1e-9


def test_a_plan_has_every_variant_on_every_split(tmp_path):
    jobs = list(ablation.plan(request(tmp_path, quick=True)))
    assert len({job.key for job in jobs}) == len(jobs) == 3 * 2 * len(ablation.VARIANTS)
    few = list(ablation.plan(request(tmp_path, quick=True, contenders=("psgbdt",), repeats=1)))
    assert [job.contender for job in few] == ["psgbdt"] * 3


def test_iris_has_the_published_error_beside_ours(tmp_path):
    frame = iris.rows()
    assert len(frame) == 150 and "target" in frame
    place = {"set": "iris", "size": iris.SIZE, "contender": "tso-tree"}
    lines = [
        place | {"split": split, "error": 4.0 + 2 * split, "leaves": 3.0, "evaluations": 2800.0}
        for split in range(2)
    ]
    text = "\n".join(iris.tell(lines, request(tmp_path)).sections)
    row = next(row for row in text.splitlines() if row.startswith("| tso-tree"))
    cells = [part.strip() for part in row.split("|")[1:-1]]
    assert cells == ["tso-tree", "5.84", "5.00 ± 1.00", "2", "3.0", "2800"]
    assert all(iris.asked_for(line, request(tmp_path)) for line in lines)


def test_claims_on_iris_are_paired_and_judged(tmp_path):
    lines = []
    for split in range(6):
        found = {"tso-tree": 7.0 + split, "cart, gain ratio": 6.0 + split, "swarm-tree": 5.0}
        for contender, error in found.items():
            place = {"set": "iris", "size": iris.SIZE, "contender": contender, "split": split}
            lines.append(place | {"error": error, "leaves": 3.0, "evaluations": 0.0})
    text = "\n".join(iris.tell(lines, request(tmp_path)).sections)
    rows = [[part.strip() for part in row.split("|")[1:-1]] for row in text.splitlines()]
    judged = {row[0]: row[1:] for row in rows if len(row) == 6}
    published = judged["TSO has a lower error than C4.5"]
    assert published == ["+0.06", "-1.00", "0-0-6", "0.031", "contradicted"]
    assert judged["(ours) swarm-tree has a lower error than TSO"][-1] == "confirmed"
