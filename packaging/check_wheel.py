"""Checks that a wheel runs where its name says, and that it is complete.

check_wheel.py WHEEL
"""

import subprocess
import sys
import zipfile
from pathlib import Path

# What a wheel must hold beside the compiled module.
FILES = [
    "swarmwood/__init__.py",
    "swarmwood/_core.pyi",
    "swarmwood/py.typed",
]
# The largest compressed wheel, in bytes.
MAX_BYTES = 10_000_000


def main() -> None:
    """Print one line, or end with the fault."""
    wheel = Path(sys.argv[1])
    # The same platform may be named twice, such as by manylinux2014 and manylinux_2_17.
    tags = wheel.stem.rsplit("-", 1)[1].split(".")
    command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    shown = " ".join(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    )
    found = shown.partition("is consistent with the following platform tag: ")[2].split('"')
    tag = found[1] if len(found) > 1 else None
    if tag not in tags:
        sys.exit(f"FAILED  {wheel.name} is not what its name says: {shown}")

    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    missing = [name for name in FILES if name not in names]
    if missing or not any(
        name.startswith("swarmwood/_core") and name.endswith(".so") for name in names
    ):
        sys.exit(f"FAILED  {wheel.name} lacks {missing or 'the compiled module'}")
    if not any(name.endswith("entry_points.txt") for name in names):
        sys.exit(f"FAILED  {wheel.name} has no command line")
    size = wheel.stat().st_size
    if size > MAX_BYTES:
        sys.exit(f"FAILED  {wheel.name} has {size} bytes, more than {MAX_BYTES}")
    print(f"  ok  {wheel.name}: {size / 1e6:.1f} MB, {tag}")


if __name__ == "__main__":
    main()
