"""Run the tests with the settings of other machines: processors, interpreters, oldest declared
versions.

``python tools/test_everywhere.py`` prints one line per cell; the exit code is 1 if a cell failed.
Two kinds of cell:

- A *processor* changes how sums are rounded: OpenBLAS uses the kernels of an older one, numpy
  leaves out its dispatched loops, and both use one or two threads. Only numerical tests are run
  there (``NUMERICAL``).
- An *environment* is another interpreter or other versions of what we depend on. Everything is run
  there.

``--full`` runs everything in every cell, ``--only TEXT`` the cells whose name contains it,
``--list`` names them. Environments and logs are kept in ``.everywhere/``; an environment is brought
up to date when pyproject.toml or constraints.txt changes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".everywhere"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# The kernels of OpenBLAS, newest first, with the names that it may report: Katmai is an alias of
# Prescott.
KERNELS = {
    "SkylakeX": ("SkylakeX",),
    "Haswell": ("Haswell",),
    "SandyBridge": ("Sandybridge",),
    "Nehalem": ("Nehalem",),
    "Prescott": ("Prescott", "Katmai"),
}
# Includes the source for its doctests; scikit-learn's checks and the commands hardly depend on
# rounding.
NUMERICAL = (
    *(
        f"tests/{name}"
        for name in (
            "core",
            "solvers",
            "metrics",
            "enhancement",
            "learning",
            "joint",
            "compose",
            "evaluation",
        )
    ),
    *(
        "tests/uncertainty",
        "tests/research",
        "tests/datasets/test_artificial.py",
        "tests/datasets/test_generated.py",
    ),
    *("tests/test_contract.py", "tests/test_golden.py", "tests/docs/test_docs.py", "src"),
)
# The versions that pip would choose are incompatible with the oldest scikit-learn, typer and
# matplotlib.
BESIDE_THE_OLDEST = ("polars==1.17.1", "click==8.2.1", "pyparsing==3.1.4")
# Run by the interpreter of a cell: prints its actual settings.
PROBE = """
import json, numpy, scipy.linalg, sklearn, threadpoolctl
blas = [info for info in threadpoolctl.threadpool_info() if info["internal_api"] == "openblas"]
print(json.dumps({
    "dispatched": numpy.show_config(mode="dicts")["SIMD Extensions"].get("found", []),
    "kernels": sorted({info["architecture"] for info in blas}),
    "threads": sorted({info["num_threads"] for info in blas}),
}))
"""
COUNT = re.compile(r"(\d+) (passed|failed|error|skipped)")


class SetUpError(Exception):
    """An environment could not be created, or a setting had no effect."""


@dataclass(frozen=True)
class Environment:
    """An interpreter with the versions to install in it."""

    name: str
    python: Path
    pins: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return CACHE / self.name

    @property
    def executable(self) -> Path:
        return self.folder / "bin" / "python"

    def build(self) -> None:
        """Create the virtual environment, or update it if the files that it was created from have
        changed."""
        stamp, digest = self.folder / "made-from", self._digest()
        if stamp.exists() and stamp.read_text() == digest:
            return
        log = CACHE / "logs" / f"{self.name}-build.txt"
        versions = self.pins or ("-c", str(ROOT / "constraints.txt"))
        create = [self.python, "-m", "venv", self.folder]
        install = [self.executable, "-m", "pip", "install", "-q", "-e", f"{ROOT}[dev]", *versions]
        with log.open("w") as out:
            for command in (install,) if self.executable.exists() else (create, install):
                if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT).returncode:
                    raise SetUpError(
                        f"the environment could not be made: see {log.relative_to(ROOT)}"
                    )
        stamp.write_text(digest)

    def _digest(self) -> str:
        declared = [
            PROJECT["dependencies"],
            PROJECT["optional-dependencies"],
            (ROOT / "constraints.txt").read_text(),
        ]
        return hashlib.sha256(repr([self.pins, *declared]).encode()).hexdigest()


@dataclass(frozen=True)
class Cell:
    """One run of the tests."""

    environment: Environment
    kernel: str | None = None
    dispatch: bool = True
    threads: int = 1
    paths: tuple[str, ...] = ()  # all tests if empty

    @property
    def name(self) -> str:
        parts = [self.environment.name, self.kernel or "own processor"]
        parts += [] if self.dispatch else ["no dispatch"]
        return ", ".join([*parts, f"{self.threads} thread{'s' * (self.threads > 1)}"])

    def variables(self) -> dict[str, str]:
        """The settings of the cell as environment variables."""
        threads = {
            name: str(self.threads)
            for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        }
        found = os.environ | threads | {"SCIPY_ARRAY_API": "1"}
        for name in ("CI", "PYTHONPATH"):  # with CI set, every cell would use the same examples
            found.pop(name, None)
        if self.kernel:
            found["OPENBLAS_CORETYPE"] = self.kernel
        if not self.dispatch:
            found["NPY_DISABLE_CPU_FEATURES"] = " ".join(
                probe(self.environment, found)["dispatched"]
            )
        return found

    def run(self, workers: int) -> tuple[bool, str]:
        """Whether all tests passed, and the line to print."""
        self.environment.build()
        variables = self.variables()
        self._check_settings(probe(self.environment, variables))
        log = CACHE / "logs" / f"{re.sub('[^a-zA-Z0-9.]+', '-', self.name)}.txt"
        command = [
            self.environment.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            str(workers),
            "--dist",
            "worksteal",
        ]
        command += ["-p", "no:cacheprovider", "--hypothesis-profile=ci", *self.paths]
        with log.open("w") as out:
            done = subprocess.run(
                command, cwd=ROOT, env=variables, stdout=out, stderr=subprocess.STDOUT
            )
        lines = log.read_text().splitlines() or [""]
        counts = (
            ", ".join(f"{count} {what}" for count, what in COUNT.findall(lines[-1])) or lines[-1]
        )
        return (
            done.returncode == 0,
            counts if done.returncode == 0 else f"{counts} (see {log.relative_to(ROOT)})",
        )

    def _check_settings(self, found: dict[str, list]) -> None:
        if self.kernel and not set(found["kernels"]) <= set(KERNELS[self.kernel]):
            raise SetUpError(f"OpenBLAS uses {', '.join(found['kernels'])} instead")
        if not self.dispatch and found["dispatched"]:
            raise SetUpError(f"numpy still dispatches to {', '.join(found['dispatched'])}")
        if found["threads"] not in ([], [self.threads]):
            raise SetUpError(f"OpenBLAS uses {found['threads']} threads instead")


def probe(environment: Environment, variables: dict[str, str]) -> dict[str, list]:
    """The actual settings of an interpreter with these variables."""
    command = [environment.executable, "-W", "ignore", "-c", PROBE]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    if done.returncode:
        raise SetUpError(f"the interpreter does not start: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def find_pythons() -> dict[str, Path]:
    """The interpreters of this machine that start, by version; pyenv's need not be activated."""
    found = {}
    for version in PYTHONS:
        installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
        on_path = shutil.which(f"python{version}")
        for candidate in [*([on_path] if on_path else []), *installed]:
            if (
                subprocess.run(
                    [candidate, "-c", "import venv, ensurepip"], capture_output=True
                ).returncode
                == 0
            ):
                found[version] = Path(candidate)
                break
    return found


def oldest_versions() -> tuple[str, ...]:
    """The lower bounds of pyproject.toml's dependencies, and of the extras that users install, as
    pins."""
    extras = PROJECT["optional-dependencies"]
    names = extras["all"][0].partition("[")[2].rstrip("]").split(",")
    requirements = [
        *PROJECT["dependencies"],
        *(requirement for name in names for requirement in extras[name]),
    ]
    return tuple(dict.fromkeys(requirement.replace(">=", "==") for requirement in requirements))


def kernels_of_this_processor() -> list[str]:
    """SkylakeX needs AVX-512, Haswell AVX2, SandyBridge AVX, which the processor must have."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return ["Nehalem", "Prescott"]
    needs = {
        "SkylakeX": "avx512dq",
        "Haswell": "avx2",
        "SandyBridge": "avx",
        "Nehalem": "sse4_2",
        "Prescott": "pni",
    }
    return [kernel for kernel in KERNELS if needs[kernel] in flags]


def make_cells(pythons: dict[str, Path], full: bool) -> Iterator[Cell]:
    """One change at a time, and the corner where everything is changed."""
    numerical = () if full else NUMERICAL
    version = min(pythons, key=PYTHONS.index)
    home = Environment(f"py{version}", pythons[version])
    oldest = Environment("oldest", pythons[version], (*oldest_versions(), *BESIDE_THE_OLDEST))
    kernels = kernels_of_this_processor()
    yield Cell(home)
    for kernel in kernels:
        yield Cell(home, kernel, paths=numerical)
    yield Cell(home, dispatch=False, paths=numerical)
    yield Cell(home, threads=2, paths=numerical)
    yield Cell(home, kernels[-1], dispatch=False, threads=2, paths=numerical)
    for other in pythons:
        if other != version:
            yield Cell(Environment(f"py{other}", pythons[other]))
    yield Cell(oldest)
    yield Cell(oldest, kernels[-1], dispatch=False, threads=2, paths=numerical)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="all tests in every cell")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="the cells whose name contains this"
    )
    parser.add_argument("--list", action="store_true", help="name the cells and stop")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="processes of tests at a time"
    )
    parser.add_argument("paths", nargs="*", help="tests to run in every cell instead of its own")
    options = parser.parse_args()

    pythons = find_pythons()
    for version in sorted(set(PYTHONS) - set(pythons)):
        print(f"Python {version} is not on this machine: its cells are left out", flush=True)
    if not pythons:
        sys.exit(f"none of Python {', '.join(PYTHONS)} was found")
    cells = [cell for cell in make_cells(pythons, options.full) if options.only in cell.name]
    if options.paths:
        cells = [replace(cell, paths=tuple(options.paths)) for cell in cells]
    if not cells:
        sys.exit(f"no cell's name contains {options.only!r}: see --list")
    (CACHE / "logs").mkdir(parents=True, exist_ok=True)
    width, failed = max(len(cell.name) for cell in cells), 0
    for cell in cells:
        if options.list:
            print(cell.name)
            continue
        start = time.perf_counter()
        try:
            passed, found = cell.run(max(1, options.workers // cell.threads))
        except SetUpError as error:
            passed, found = False, str(error)
        failed += not passed
        seconds = time.perf_counter() - start
        print(
            f"{'ok  ' if passed else 'FAIL'}  {cell.name:<{width}}  {seconds:6.0f} s  {found}",
            flush=True,
        )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
