"""Build wheel and source archive in dist/, check both, install the wheel in a fresh environment and
try it.

``make dist`` runs it; it ends with an error if anything is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
EXTRAS = "cli,tables,report"
# Run in an empty folder with the installed package only.
SMOKE_TEST = """
import numpy as np, pandas as pd
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
D = np.exp(X @ rng.normal(size=(3, 3))); D /= D.sum(axis=1, keepdims=True)
labels = pd.DataFrame((D > 0.2).astype(int), columns=["x", "y", "z"])
table = pd.DataFrame(X, columns=["a", "b", "c"]).join(labels)
table.to_csv("table.csv", index=False)
"""
COMMANDS = (
    ("--version",),
    ("methods",),
    ("fit", "table.csv", "--labels", "x,y,z", "-o", "model.ldl"),
    ("predict", "table.csv", "--model", "model.ldl", "-o", "degrees.csv"),
    ("inspect", "model.ldl", "--html", "card.html"),
)


def run(*command: object, cwd: Path = ROOT) -> None:
    print("$", *command, flush=True)
    subprocess.run([str(word) for word in command], cwd=cwd, check=True)


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-d", DIST)
    wheel, sdist = next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    check_content(wheel, sdist)
    check_tag(wheel)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "venv", "--without-pip", folder / "environment")
        bin_folder = folder / "environment" / ("Scripts" if sys.platform == "win32" else "bin")
        # uv is in the environment that make sets up.
        target = ("--python", bin_folder / "python", "-c", ROOT / "constraints.txt")
        run(sys.executable, "-m", "uv", "pip", "install", "-q", *target, f"{wheel}[{EXTRAS}]")
        run(bin_folder / "python", "-c", SMOKE_TEST, cwd=folder)
        for arguments in COMMANDS:
            run(bin_folder / "ldlearn", *arguments, cwd=folder)
    print(f"{wheel.name} and {sdist.name} are complete and work.")


def check_tag(wheel: Path) -> None:
    """In a release, the tag is the version."""
    version, tag = wheel.name.split("-")[1], os.environ.get("GITHUB_REF_NAME", "")
    if os.environ.get("GITHUB_REF_TYPE") == "tag" and tag != f"v{version}":
        raise SystemExit(
            f"The tag is {tag}, but the version is {version}: set it in pyproject.toml and "
            f"CITATION.cff"
        )


def check_content(wheel: Path, sdist: Path) -> None:
    """Every tracked file of the package is in both archives, and nothing else of the repository is
    in the wheel."""
    tracked = subprocess.run(
        ["git", "ls-files", "src/ldlearn"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    expected = {name.removeprefix("src/") for name in tracked if name}
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    if packed != expected:
        raise SystemExit(
            f"The wheel differs from the tracked files: {sorted(packed ^ expected)[:10]}"
        )
    with tarfile.open(sdist) as archive:
        sources = {name.partition("/src/")[2] for name in archive.getnames()}
    if missing := sorted(expected - sources):
        raise SystemExit(f"The source archive lacks {missing[:10]}")


if __name__ == "__main__":
    main()
