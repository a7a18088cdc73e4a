"""What a record says about its making: the answer of a command, the version of a package, the
machine."""

import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def said(command: list) -> str:
    """One line of output of a command, or a dash: the record must not fail for want of git."""
    try:
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, check=True
        )
        return done.stdout.strip() or "-"
    except (OSError, subprocess.CalledProcessError):
        return "-"


def installed(package: str) -> str:
    """The version of a package; a run may leave contenders out, and so may their environment."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "-"


def machine() -> str:
    """The processor's name and the number of processors."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else "unknown"
