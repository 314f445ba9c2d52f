"""Break the mathematics one line at a time and check that a test fails.

``python tools/mutants.py`` applies each mutation of tools/mutants.toml to a copy of the project,
runs the tests named with it until the first failure, and prints the outcome. The exit code is 1 if
a mutation survives that is not declared equivalent. Stored results (tests/test_golden.py) do not
count: they show that something changed, not what is wrong.

``--only TEXT`` takes the mutations whose file or description contains it, ``--jobs N`` runs N at a
time, ``--list FILE`` reads another list.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("mutants.toml")
COPIED = ("src", "research", "tests", "pyproject.toml")
# Imported once; every mutation is tried in a fork of this process. Never ldlearn itself.
PRELOADED = (
    "cvxpy",
    "hypothesis.strategies",
    "pandas",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.neighbors",
)
# No bytecode: two mutations of the same size within a second would share a compiled file.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
IMPORTED_EARLY = "ignore::pytest.PytestAssertRewriteWarning"


@dataclass(frozen=True)
class Mutation:
    """A source line, its replacement, what that breaks, and the tests that should fail."""

    file: str  # below src/ldlearn, or a path that starts with research/
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]  # below tests
    equivalent: str = ""  # why no test can detect it

    @property
    def path(self) -> Path:
        return (
            Path(self.file)
            if self.file.startswith("research/")
            else Path("src", "ldlearn", self.file)
        )

    def fault(self) -> str | None:
        """Why it cannot be applied; empty if it can."""
        if not (ROOT / self.path).is_file():
            return f"{self.path} does not exist"
        found = (ROOT / self.path).read_text().count(self.old)
        if found != 1:
            return f"{self.path} contains {self.old!r} {found} times instead of once"
        if self.old == self.new or "\n" in self.old.strip():
            return f"{self.path}: {self.old!r} must be part of one line and be changed"
        missing = [name for name in self.tests if not (ROOT / "tests" / name).exists()]
        return f"there are no tests {', '.join(missing)}" if missing or not self.tests else None


class FirstFailure:
    """A pytest plugin that stores the first failing test."""

    test: str | None = None

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.test is None:
            self.test = report.nodeid.removeprefix("tests/")

    pytest_collectreport = pytest_runtest_logreport


def read_mutations(path: Path = LIST) -> list[Mutation]:
    sections = tomllib.loads(path.read_text())
    reasons = sections.pop("equivalent", {})
    found = [
        Mutation(
            file, old, new, breaks, tuple(section["tests"]), reasons.pop(f"{file}: {breaks}", "")
        )
        for file, section in sections.items()
        for old, new, breaks in section["mutations"]
    ]
    if reasons:
        sys.exit(f"equivalent, but not in the list: {', '.join(reasons)}")
    return found


def detecting_test(task: tuple[Mutation | None, tuple[str, ...], int]) -> str | None:
    """Apply a mutation (or none) to a copy and return the first test that fails there; to be run in
    a new process."""
    mutation, tests, seconds = task
    multiprocessing.current_process().daemon = (
        False  # otherwise tests with clusters could not start processes
    )
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, Path(folder, name))
        if mutation:
            path = Path(folder, mutation.path)
            before, after = path.read_text().split(mutation.old)  # once: the list was checked
            path.write_text(before + mutation.new + after)
        return first_failure(folder, tests, seconds)


def first_failure(folder: str, tests: tuple[str, ...], seconds: int) -> str | None:
    """Run tests in this process on the copy in the folder, with a limit of CPU seconds."""
    import pytest

    def out_of_time(*_: Any) -> None:
        raise TimeoutError(f"more than {seconds} s of the processor's time")

    os.chdir(folder)
    os.environ["PYTHONPATH"] = f"{folder}/src"
    sys.path[:0] = [f"{folder}/src"]
    signal.signal(signal.SIGPROF, out_of_time)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    found = FirstFailure()
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        settings = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", IMPORTED_EARLY]
        settings += ["--hypothesis-profile=ci"]  # the same examples in every run
        code = pytest.main([*settings, *(f"tests/{name}" for name in tests)], plugins=[found])
    signal.setitimer(signal.ITIMER_PROF, 0)
    return found.test or (f"pytest's exit code {code}" if code else None)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="mutations whose file or description contains it"
    )
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument(
        "--seconds",
        type=int,
        default=120,
        help="of the processor, after which a test counts as failed",
    )
    parser.add_argument("--list", type=Path, default=LIST, metavar="FILE", help="the mutations")
    options = parser.parse_args()

    mutations = [m for m in read_mutations(options.list) if options.only in f"{m.file}: {m.breaks}"]
    faults = [fault for mutation in mutations if (fault := mutation.fault())]
    if faults or not mutations:
        sys.exit("\n".join(faults) or f"no mutation contains {options.only!r}")
    os.environ |= ENVIRONMENT  # before numpy is imported
    sys.dont_write_bytecode = True
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    survivors = []
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        sound = [
            (None, tests, 10 * options.seconds)
            for tests in sorted({mutation.tests for mutation in mutations})
        ]
        if failed := [test for test in pool.map(detecting_test, sound, chunksize=1) if test]:
            sys.exit(f"fails without any mutation: {', '.join(failed)}")
        tasks = [(mutation, mutation.tests, options.seconds) for mutation in mutations]
        for mutation, test in zip(mutations, pool.imap(detecting_test, tasks), strict=True):
            print(
                f"{mutation.file}: {mutation.breaks}: "
                f"{f'noticed by {test}' if test else 'SURVIVED'}",
                flush=True,
            )
            survivors += [] if test else [mutation]
    print(f"{len(mutations)} mutations, {len(survivors)} survive")
    for mutation in survivors:
        reason = mutation.equivalent or "no test notices it"
        print(
            f"  {mutation.file}: {mutation.old.strip()} -> {mutation.new.strip()} "
            f"({mutation.breaks}): {reason}"
        )
    return exit_code(survivors)


def exit_code(survivors: list[Mutation]) -> int:
    return int(not all(mutation.equivalent for mutation in survivors))


if __name__ == "__main__":
    sys.exit(main())
