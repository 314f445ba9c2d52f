"""Change the code in one place at a time and check that a test fails.

``python tools/mutants.py`` generates mutants of the functions of src/ldlearn from their syntax
trees: operators, comparisons, signs, numbers, conditions, branches, terms, arguments, statements. A
mutant is written to a copy of the project, the tests of its package run until the first failure,
and the outcome is printed. Stored results (tests/test_golden.py) do not count: they show that
something changed, not what is wrong. The exit code is 1 if a mutant survives that is not listed in
tools/equivalent_mutants.toml.

``--only core metrics/labels.py`` takes the mutants of these packages and files, ``--sample N
--seed S`` draws N of them (one of each function as long as there are functions), ``--minutes M``
starts no mutant after that time, ``--jobs N`` runs N at a time, ``--list`` only prints them.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("src", "ldlearn")
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
COPIED = ("src", "research", "tests", "pyproject.toml")
# Folders of tests that are not called like the package
TEST_FOLDERS = {"": "base", "dask": "dask_estimators"}
# Imported once; every mutant is tried in a fork of this process. Never ldlearn itself.
PRELOADED = (
    "cvxpy",
    "hypothesis.strategies",
    "pandas",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.neighbors",
)
# No bytecode: two mutants of the same size within a second would share a compiled file.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
IMPORTED_EARLY = "ignore::pytest.PytestAssertRewriteWarning"

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
NAMES = {
    "max": "min",
    "maximum": "minimum",
    "argmax": "argmin",
    "any": "all",
    "ceil": "floor",
    "ones": "zeros",
}
NAMES |= {new: old for old, new in NAMES.items()}
# Functions of which the order of the arguments does not matter
SYMMETRIC = ("max", "maximum", "min", "minimum", "vdot")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Messages and types are no mathematics; functions inside of others have mutants of their own.
SKIPPED = (ast.JoinedStr, ast.Raise, ast.Assert, ast.ClassDef, *FUNCTIONS)
SKIPPED_FIELDS = ("annotation", "returns")


@dataclass(frozen=True)
class Mutant:
    """A part of a function and what it becomes."""

    file: str  # below src/ldlearn
    function: str
    change: str  # "old -> new", with a number if the function has several of them
    start: int  # in the bytes of the file
    end: int
    text: str

    @property
    def key(self) -> str:
        return f"{self.file}: {self.function}: {self.change}"

    def apply(self, root: Path) -> None:
        path = root / SOURCE / self.file
        content = path.read_bytes()
        path.write_bytes(content[: self.start] + self.text.encode() + content[self.end :])


def read_mutants(file: str, root: Path = ROOT) -> list[Mutant]:
    """All mutants of a file below src/ldlearn."""
    source = (root / SOURCE / file).read_bytes()
    line_starts = [0]
    for line in source.splitlines(keepends=True):
        line_starts.append(line_starts[-1] + len(line))
    found = []
    for name, function in functions(ast.parse(source)):
        seen: Counter[str] = Counter()
        for node in body_nodes(function):
            for old, new in variants(node):
                change = f"{ast.unparse(old)} -> {ast.unparse(new)}"
                seen[change] += 1
                if seen[change] > 1:
                    change += f" ({seen[change]})"
                start = line_starts[old.lineno - 1] + old.col_offset
                end = line_starts[old.end_lineno - 1] + old.end_col_offset
                text = ast.unparse(new)
                if isinstance(new, ast.expr):
                    text = f"({text})"
                found.append(Mutant(file, name, change, start, end, text))
    return found


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Functions and methods by their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
            name = prefix + node.name
            if isinstance(node, FUNCTIONS):
                yield name, node
            yield from functions(node, f"{name}.")
        else:
            yield from functions(node, prefix)


def body_nodes(function: Any) -> Iterator[ast.AST]:
    """Statements and expressions of a function, without its docstring, messages and types."""
    for node in function.body:
        if not is_text(node):
            yield from walk(node)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, in the order of the source."""
    if isinstance(node, SKIPPED) or is_axis(node):
        return
    yield node
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in SKIPPED_FIELDS:
                yield from walk(child)


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_axis(node: ast.AST) -> bool:
    """Whether it is the argument axis=1: matrices have no axis 2."""
    return isinstance(node, ast.keyword) and node.arg == "axis"


def variants(node: ast.AST) -> Iterator[tuple[Any, ast.AST]]:
    """Pairs of a node, which is this one or a part of it, and its replacement."""
    match node:
        case ast.BinOp(left, operator, right):
            if type(operator) in OPERATORS:
                yield node, ast.BinOp(left, OPERATORS[type(operator)](), right)
            if isinstance(operator, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
                yield node, left
        case ast.UnaryOp(ast.USub() | ast.Not() | ast.Invert(), operand):
            yield node, operand
        case ast.Compare(left, [comparison], [right]) if type(comparison) in COMPARISONS:
            yield node, ast.Compare(left, [COMPARISONS[type(comparison)]()], [right])
        case ast.BoolOp(operator, values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield node, ast.BoolOp(other, values)
        case ast.Constant(bool(value)):
            yield node, ast.Constant(not value)
        case ast.Constant(int(value)):
            yield node, ast.Constant(value + 1)
        case ast.Constant(float(value)):
            yield node, ast.Constant(2 * value or 1.0)
        case ast.IfExp(test, body, orelse):
            yield node, ast.IfExp(test, orelse, body)
        case ast.If(test) | ast.While(test) if not isinstance(test, (ast.Compare, ast.UnaryOp)):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.Call(function, [first, second, *others], keywords):
            symmetric = ast.unparse(function).rpartition(".")[2] in SYMMETRIC
            if not symmetric and ast.dump(first) != ast.dump(second):
                yield node, ast.Call(function, [second, first, *others], keywords)
        case ast.Name(name) if name in NAMES:
            yield node, ast.Name(NAMES[name])
        case ast.Attribute(value, name) if name in NAMES:
            yield node, ast.Attribute(value, NAMES[name])
        case ast.AugAssign(target, operator, value):
            yield node, ast.Pass()
            if type(operator) in OPERATORS:
                yield node, ast.AugAssign(target, OPERATORS[type(operator)](), value)
        case ast.Expr(ast.Call()):
            yield node, ast.Pass()


@cache
def tests_of(file: str) -> tuple[str, ...]:
    """The tests of a file, below tests: those of its name, then all of its package.

    If none has its name, those that import it come first.
    """
    path = Path(file)
    package = "" if path.parent == Path() else path.parts[0]
    folder = ROOT / "tests" / TEST_FOLDERS.get(package, package)
    first = list(folder.glob(f"test_{path.stem.strip('_')}*.py"))
    if not first:
        imported = re.compile(rf"ldlearn\.{'.'.join(path.with_suffix('').parts)}\b")
        for tests in (ROOT / "tests").glob("*/test_*.py"):
            if imported.search(tests.read_text(encoding="utf-8")):
                first.append(tests)
    return tuple(str(tests.relative_to(ROOT / "tests")) for tests in [*sorted(first), folder])


def without_repetition(tests: tuple[str, ...]) -> tuple[str, ...]:
    """Tests without the files that are in the folder among them."""
    return tuple(name for name in tests if not name.startswith(f"{tests[-1]}/"))


def draw(mutants: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """A sample with at most one mutant of each function, or as few as possible."""
    generator = random.Random(seed)
    by_function = defaultdict(list)
    for mutant in mutants:
        by_function[mutant.file, mutant.function].append(mutant)
    groups = list(by_function.values())
    for group in groups:
        generator.shuffle(group)
    drawn: list[Mutant] = []
    while groups and len(drawn) < size:
        generator.shuffle(groups)
        drawn += [group.pop() for group in groups]
        groups = [group for group in groups if group]
    return drawn[:size]


def read_equivalent(path: Path = EQUIVALENT) -> dict[str, str]:
    """Reasons by the keys of mutants that no test can notice."""
    sections = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        f"{file}: {function}: {change}": reason
        for file, by_function in sections.items()
        for function, changes in by_function.items()
        for change, reason in changes.items()
    }


class FirstFailure:
    """A pytest plugin that stores the first failing test."""

    test: str | None = None

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.test is None:
            self.test = report.nodeid.removeprefix("tests/")

    pytest_collectreport = pytest_runtest_logreport


def noticing_test(task: tuple[Mutant | None, tuple[str, ...], float]) -> tuple[str | None, float]:
    """The first test that fails with the mutant (or none), and the seconds of the processor.

    To be run in a new process.
    """
    mutant, tests, seconds = task
    # Tests with clusters could otherwise not start processes.
    multiprocessing.current_process().daemon = False
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, Path(folder, name))
        if mutant:
            mutant.apply(Path(folder))
        return first_failure(folder, tests, seconds)


def first_failure(folder: str, tests: tuple[str, ...], seconds: float) -> tuple[str | None, float]:
    """Run tests in this process on the copy in the folder, with a limit of CPU seconds."""
    import pytest

    def out_of_time(*_: Any) -> None:
        raise TimeoutError(f"more than {seconds:.0f} s of the processor's time")

    os.chdir(folder)
    os.environ["PYTHONPATH"] = f"{folder}/src"
    sys.path[:0] = [f"{folder}/src"]
    signal.signal(signal.SIGPROF, out_of_time)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    start = time.process_time()
    found = FirstFailure()
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        settings = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", IMPORTED_EARLY]
        settings += ["--hypothesis-profile=ci"]  # the same examples in every run
        code = pytest.main([*settings, *(f"tests/{name}" for name in tests)], plugins=[found])
    signal.setitimer(signal.ITIMER_PROF, 0)
    test = found.test or (f"pytest's exit code {code}" if code else None)
    return test, time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[""], metavar="PATH")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--minutes", type=float, default=float("inf"), metavar="M")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()

    files = sorted(str(path.relative_to(ROOT / SOURCE)) for path in (ROOT / SOURCE).rglob("*.py"))
    generated = [mutant for file in files for mutant in read_mutants(file)]
    reasons = read_equivalent()
    for key in sorted(set(reasons) - {mutant.key for mutant in generated}):
        print(f"listed as equivalent, but no mutant any more: {key}")
    mutants = [mutant for mutant in generated if mutant.file.startswith(tuple(options.only))]
    if not mutants:
        sys.exit(f"no file of {SOURCE} with functions starts with {' or '.join(options.only)}")
    if options.sample:
        mutants = draw(mutants, options.sample, options.seed)
    if options.list:
        print(*(mutant.key for mutant in mutants), sep="\n")
        return 0
    return run(mutants, reasons, options.jobs, options.minutes)


def run(mutants: Sequence[Mutant], reasons: dict[str, str], jobs: int, minutes: float) -> int:
    """Try the mutants, print the outcome of each and a summary, and return the exit code."""
    os.environ |= ENVIRONMENT  # before numpy is imported
    sys.dont_write_bytecode = True
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    start = time.monotonic()
    tried, survivors = 0, []
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        sets = sorted({without_repetition(tests_of(mutant.file)) for mutant in mutants})
        unchanged = [(None, tests, 1e6) for tests in sets]
        limits = {}
        for tests, (failed, seconds) in zip(
            sets, pool.map(noticing_test, unchanged, chunksize=1), strict=True
        ):
            if failed:
                sys.exit(f"fails without a mutant: {failed}")
            limits[tests] = 30 + 3 * seconds
        tasks = []
        for mutant in mutants:
            tests = tests_of(mutant.file)
            tasks.append((mutant, tests, limits[without_repetition(tests)]))
        for mutant, (test, _) in zip(mutants, pool.imap(noticing_test, tasks), strict=True):
            outcome = f"noticed by {test}" if test else reasons.get(mutant.key, "SURVIVED")
            print(f"{mutant.key}: {outcome}", flush=True)
            tried += 1
            if not test and mutant.key not in reasons:
                survivors.append(mutant)
            if time.monotonic() - start > 60 * minutes:
                break
    print(f"{tried} of {len(mutants)} mutants, {len(survivors)} survive")
    for mutant in survivors:
        print(f"  {mutant.key}")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
