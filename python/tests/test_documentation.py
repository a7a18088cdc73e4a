"""Every code block of the README and of the pages that teach is run, page by page, from the top."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs/index.md",
    ROOT / "docs/choosing.md",
    ROOT / "docs/scoring.md",
    *sorted((ROOT / "docs/tutorials").glob("*.md")),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# How to build and install is tested by building and installing.
SETUP = ("make ", "pip install", "cargo install")


def write_tables(rng: np.random.Generator) -> None:
    """The tables that pages speak of and do not make themselves."""
    for name, rows in (
        ("patients.csv", 300),
        ("houses.csv", 300),
        ("new.csv", 60),
        ("test.csv", 60),
    ):
        table = pd.DataFrame({"age": rng.integers(18, 90, rows), "size": rng.normal(80, 20, rows)})
        table["garden"] = rng.choice(["yes", "no"], rows)
        table["ill"] = np.where(table["age"] + rng.normal(0, 10, rows) > 60, "yes", "no")
        table["price"] = 3 * table["size"] + 20 * (table["garden"] == "yes")
        if name in ("patients.csv", "houses.csv"):
            table = table.drop(columns="price" if name == "patients.csv" else "ill")
        table.to_csv(name, index=False)


def shell_environment(directory: Path) -> dict[str, str] | None:
    """An environment in which `swarmwood` is the command line under test."""
    binary = os.environ.get("SWARMWOOD_COMMAND_LINE")
    if binary is None:
        return None
    tools = directory / "bin"
    tools.mkdir()
    (tools / "swarmwood").symlink_to(binary)
    # A link would not find the packages of a virtual environment.
    python = tools / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables(np.random.default_rng(0))
    environment = shell_environment(tmp_path)
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert any(language in ("python", "sh") for language, _ in blocks)

    namespace: dict[str, object] = {"__name__": "__main__"}
    for language, code in blocks:
        if language == "python":
            if "pyspark" in code and importlib.util.find_spec("pyspark") is None:
                continue  # make spark runs it
            exec(compile(code, str(page), "exec"), namespace)
        elif language == "sh" and environment is not None and not code.startswith(SETUP):
            if importlib.util.find_spec("onnxruntime") is None:
                code = code.replace("--verify ", "--verify-if-possible ")
            run = subprocess.run(
                ["sh", "-e", "-c", code], env=environment, capture_output=True, text=True
            )
            assert run.returncode == 0, f"{code}\n{run.stderr}"
