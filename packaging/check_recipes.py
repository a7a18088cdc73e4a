"""Checks that the recipes of package managers say what the project's own files say.

check_recipes.py
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jinja2
import yaml

ROOT = Path(__file__).resolve().parent.parent
# What conda-build gives to a recipe.
CONDA = {
    "PYTHON": "python",
    "compiler": lambda language: f"{language}-compiler",
    "stdlib": lambda language: f"{language}-stdlib",
}


def specification(requirement: str) -> str:
    """Remove blanks: conda writes one before the version."""
    return requirement.replace(" ", "")


def check_conda(cargo: dict[str, Any], project: dict[str, Any]) -> list[str]:
    """Compare the conda recipe."""
    text = (ROOT / "packaging/conda/meta.yaml").read_text()
    recipe = yaml.safe_load(jinja2.Template(text, undefined=jinja2.StrictUndefined).render(CONDA))
    package, needs = cargo["workspace"]["package"], recipe["requirements"]
    python = "python" + project["project"]["requires-python"]
    files = [name for name in recipe["about"]["license_file"] if name != "THIRDPARTY.yml"]
    facts = {
        "version": (str(recipe["package"]["version"]), package["version"]),
        "name": (recipe["package"]["name"], project["project"]["name"]),
        "summary": (recipe["about"]["summary"], project["project"]["description"]),
        "license": (recipe["about"]["license"], package["license"]),
        "license files": ([], [name for name in files if not (ROOT / name).is_file()]),
        "run": (
            sorted(map(specification, needs["run"])),
            sorted([python, *project["project"]["dependencies"]]),
        ),
        "host": (
            sorted(map(specification, needs["host"])),
            sorted([python, "pip", *project["build-system"]["requires"]]),
        ),
    }
    return [
        f"conda: {name}: {found}, expected {told}"
        for name, (found, told) in facts.items()
        if found != told
    ]


def check_homebrew(cargo: dict[str, Any], project: dict[str, Any]) -> list[str]:
    """Compare the formula."""
    path = ROOT / "packaging/homebrew/swarmwood.rb"
    text = path.read_text()
    faults = []
    if f'desc "{project["project"]["description"]}"' not in text:
        faults.append("homebrew: the description is another than in pyproject.toml")
    licenses = re.findall(r'"([^"]+)"', re.search(r"license any_of: \[(.*)\]", text)[1])
    if " OR ".join(licenses) != cargo["workspace"]["package"]["license"]:
        faults.append(f"homebrew: the licenses are {licenses}")
    if not (ROOT / re.search(r'path: "([^"]+)"', text)[1] / "Cargo.toml").is_file():
        faults.append("homebrew: there is no crate where it installs from")
    if ruby := shutil.which("ruby"):
        run = subprocess.run([ruby, "-c", str(path)], capture_output=True, text=True, check=False)
        faults += [f"homebrew: {run.stderr}"] if run.returncode else []
    return faults


def main() -> None:
    """Print one line, or end with the faults."""
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    if faults := check_conda(cargo, project) + check_homebrew(cargo, project):
        sys.exit("\n".join(f"FAILED  {fault}" for fault in faults))
    print("  ok  recipes")


if __name__ == "__main__":
    main()
