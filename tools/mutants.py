"""Break the mathematics on purpose, one line at a time, and see whether a test says so.

``python tools/mutants.py`` applies each mutation of tools/mutants.toml to a copy of the project, runs the tests named
with it until the first failure, and prints what became of it. It ends with 1 if a mutation survives that is not known
to be equivalent. Stored results (tests/test_golden.py) do not count: they say that something changed, not what is
wrong.

``--only TEXT`` takes the mutations whose file or description contains it, ``--jobs N`` runs N at a time.
"""

from __future__ import annotations

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("mutants.toml")
COPIED = ("src", "tests", "pyproject.toml")
# No compiled files: two mutations of one size within a second would share them. The same examples in every run.
SETTINGS = {"PYTHONDONTWRITEBYTECODE": "1", "CI": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Mutation:
    """One line of the source, what it is changed into, what that breaks, and which tests should notice."""

    file: str  # below src/ldlearn
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]  # below tests
    equivalent: str = ""  # why no test can notice

    @property
    def path(self) -> Path:
        return Path("src", "ldlearn", self.file)

    def fault(self) -> str | None:
        """Why it cannot be applied, if it cannot."""
        if not (ROOT / self.path).is_file():
            return f"{self.path} does not exist"
        found = (ROOT / self.path).read_text().count(self.old)
        if found != 1:
            return f"{self.path} contains {self.old!r} {found} times instead of once"
        if self.old == self.new or "\n" in self.old.strip():
            return f"{self.path}: {self.old!r} must be part of one line and be changed"
        missing = [name for name in self.tests if not (ROOT / "tests" / name).exists()]
        return f"there are no tests {', '.join(missing)}" if missing or not self.tests else None

    def run(self, copy: Path, timeout: float) -> str | None:
        """The test that fails, or None if the mutation survives."""
        path = copy / self.path
        sound = path.read_text()
        path.write_text(sound.replace(self.old, self.new))
        try:
            return run_tests(copy, self.tests, timeout)
        finally:
            path.write_text(sound)


def read_mutations() -> list[Mutation]:
    sections = tomllib.loads(LIST.read_text())
    reasons = sections.pop("equivalent", {})
    found = [
        Mutation(file, old, new, breaks, tuple(section["tests"]), reasons.pop(f"{file}: {breaks}", ""))
        for file, section in sections.items()
        for old, new, breaks in section["mutations"]
    ]
    if reasons:
        sys.exit(f"equivalent, but not in the list: {', '.join(reasons)}")
    return found


def copy_project(folder: Path) -> Path:
    for name in COPIED:
        source = ROOT / name
        ignore = shutil.ignore_patterns("__pycache__", ".hypothesis")
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name, **({"ignore": ignore} if source.is_dir() else {}))
    return folder


def run_tests(copy: Path, tests: tuple[str, ...], timeout: float) -> str | None:
    """The first test that fails in this copy, or None if all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += [f"tests/{name}" for name in tests]
    settings = os.environ | SETTINGS | {"PYTHONPATH": str(copy / "src")}
    try:
        done = subprocess.run(command, cwd=copy, env=settings, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"the clock: more than {timeout:g} s"
    if done.returncode == 0:
        return None
    failed = FAILED.search(done.stdout)
    return failed[1].removeprefix("tests/") if failed else (done.stdout + done.stderr).strip().splitlines()[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="mutations whose file or description contains it")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds after which a mutation counts as noticed")
    options = parser.parse_args()

    mutations = [m for m in read_mutations() if options.only in f"{m.file}: {m.breaks}"]
    faults = [fault for mutation in mutations if (fault := mutation.fault())]
    if faults:
        sys.exit("\n".join(faults))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies: queue.Queue[Path] = queue.Queue()
        for job in range(options.jobs):
            copies.put(copy_project(Path(folder, str(job))))
        sound = copies.queue[0]
        tests = tuple(sorted({name for mutation in mutations for name in mutation.tests}))
        if failed := run_tests(sound, tests, timeout=10 * options.timeout):
            sys.exit(f"{failed} fails without any mutation")

        def judge(mutation: Mutation) -> bool:
            copy = copies.get()
            try:
                killer = mutation.run(copy, options.timeout)
            finally:
                copies.put(copy)
            verdict = f"noticed by {killer}" if killer else f"SURVIVED {mutation.equivalent and '(equivalent)'}"
            print(f"{mutation.file}: {mutation.breaks}: {verdict}", flush=True)
            return killer is not None

        noticed = list(pool.map(judge, mutations))
    survivors = [mutation for mutation, seen in zip(mutations, noticed, strict=True) if not seen]
    unexplained = [mutation for mutation in survivors if not mutation.equivalent]
    print(f"{len(mutations)} mutations, {len(survivors)} survive")
    for mutation in survivors:
        reason = mutation.equivalent or "no test notices it"
        print(f"  {mutation.file}: {mutation.old.strip()} -> {mutation.new.strip()} ({mutation.breaks}): {reason}")
    return int(bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
