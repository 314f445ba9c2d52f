"""The style of the source: lines that say one thing, and names with one meaning."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "ldlearn"
USERS = ("src", "tests", "docs", "examples", "benchmarks", "research", "tools")
if not (ROOT / "tools").is_dir():
    pytest.skip("the tools are not part of this copy of the project", allow_module_level=True)


def load_density():
    path = ROOT / "tools" / "code_density.py"
    spec = importlib.util.spec_from_file_location("code_density", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["code_density"] = module  # dataclasses look up their module
    spec.loader.exec_module(module)
    return module


density = load_density()
TREES = {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def test_density_counts_code_without_docstrings():
    source = '"""Text."""\n\n# comment\na, b = (1, 2)\nc = [x for x in y if x] if a else b\n'
    found = density.measure_source(source)
    assert (found.lines, found.tokens) == (2, 24)
    assert found.parallel_assignments == found.conditional_expressions == 1
    assert found.comprehensions == 1
    assert density.measure_source("a, b = f()").parallel_assignments == 0


def test_a_line_says_one_thing():
    """Averages where scikit-learn has 6 tokens per line, and 3, 5 and 3 of the others."""
    found = density.measure(SOURCE)
    assert found.tokens_per_line <= 9
    assert found.per_thousand_lines("parallel_assignments") <= 8
    assert found.per_thousand_lines("conditional_expressions") <= 20
    assert found.per_thousand_lines("comprehensions") <= 30


def nested_conditionals(tree):
    for outer in ast.walk(tree):
        if isinstance(outer, ast.IfExp):
            inner = (outer.test, outer.body, outer.orelse)
            if any(isinstance(node, ast.IfExp) for node in inner):
                yield outer.lineno


def comprehensions_with_two_conditions(tree):
    for node in ast.walk(tree):
        if not isinstance(node, density.COMPREHENSIONS):
            continue
        if sum(len(generator.ifs) for generator in node.generators) > 1:
            yield node.lineno


@pytest.mark.parametrize(
    ("find", "source"),
    [
        (nested_conditionals, "a if b else c if d else e"),
        (comprehensions_with_two_conditions, "[a for a in b if c if d]"),
    ],
)
def test_no_expression_says_three_things(find, source):
    assert list(find(ast.parse(source))) == [1]
    found = [f"{path.name}:{line}" for path, tree in TREES.items() for line in find(tree)]
    assert found == []


def definitions(tree):
    """Names of functions, classes and variables that a module defines itself, and their source."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, ast.dump(node)
        targets = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and not part.id.startswith("__"):
                    yield part.id, ast.dump(node)


def sources_by_name():
    """The paths that define a name, and how."""
    found = defaultdict(dict)
    for path, tree in TREES.items():
        for name, source in definitions(tree):
            found[name][path] = source
    return found


def is_command(path):
    """A function of the command line has the name of its command."""
    return path.parent.name == "cli"


def test_top_level_names_have_one_meaning():
    several = {}
    for name, sources in sources_by_name().items():
        library = {path: source for path, source in sources.items() if not is_command(path)}
        if len(set(library.values())) > 1:
            several[name] = sorted(path.relative_to(SOURCE).as_posix() for path in library)
    assert several == {}


def exported(path):
    """The names that a module lists in ``__all__``; the contract lists its checks in CHECKS."""
    for node in TREES[path].body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id in ("__all__", "CHECKS"):
                for part in ast.walk(node.value):
                    yield from {getattr(part, "value", None), getattr(part, "id", None)}


def test_names_that_look_public_are_used_elsewhere():
    users = defaultdict(set)
    for folder in USERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".html", ".md", ".py", ".toml"):
                for word in re.findall(r"\w+", path.read_text("utf-8")):
                    users[word].add(path)
    unused = []
    for name, sources in sources_by_name().items():
        (path, *others) = sources
        if name.startswith("_") or others or is_command(path) or name in exported(path):
            continue
        if users[name] == {path}:
            unused.append(f"{path.relative_to(SOURCE).as_posix()}: {name}")
    assert unused == []
