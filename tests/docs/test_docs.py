"""Documentation: blocks and scripts run, names and links exist."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import runpy
import sys
from pathlib import Path

import fork_server
import pytest

from ldlearn import all_estimators

ROOT = Path(__file__).resolve().parents[2]
DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"
if not DOCS.is_dir():
    pytest.skip("the documents are not part of this copy of the project", allow_module_level=True)
METHOD_PACKAGES = ("enhancement", "learning", "joint", "compose")
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
SCRIPTS = sorted(EXAMPLES.glob("plot_*.py"))
# tests/test_newcomer_walk.py runs the tutorial, test_few_votes.py its page; the tables of defaults
# come from a benchmark.
NOT_RUN_HERE = ("tutorial.md", "few_votes.md", "defaults.md")


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


runner = load(DOCS / "_ext" / "page_runner.py")


own_tools = runner._own_tools


def quick_tools(folder: Path) -> Path:
    """Tools of this interpreter, with `ldlearn` as a forked process."""
    fork_server.write_script(own_tools(folder) / "ldlearn")
    return folder


def name(path: Path) -> str:
    return path.relative_to(DOCS).as_posix() if path.is_relative_to(DOCS) else path.name


def with_blocks() -> list[Path]:
    found = [
        path
        for path in PAGES
        if any(block.is_run for block in runner.find_blocks(path.read_text("utf-8")))
    ]
    return [path for path in found if path.name not in NOT_RUN_HERE]


@pytest.mark.parametrize("page", with_blocks(), ids=name)
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_own_tools", quick_tools)
    folder = tmp_path / "page"
    folder.mkdir()
    runner.run_page(page, folder)


def test_failing_blocks_are_detected(tmp_path):
    def run(text: str):
        (tmp_path / "page.md").write_text(text)
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        return runner.run_page(tmp_path / "page.md", folder)

    outcomes = run(
        "```python\nx = 2\n```\n\n```python\nprint('twice')\nx + 1\n```\n\n```text\nno\n```"
    )
    assert [outcome.text for outcome in outcomes] == ["", "twice\n3\n"]
    assert (
        run("```console\n$ echo a \\\n  b\n$ echo c\n```")[0].text
        == "$ echo a \\\n  b\na b\n$ echo c\nc\n"
    )
    assert run("<!-- not run: no network -->\n```console\n$ false\n```") == []
    assert run("<!-- fails -->\n```console\n$ false\n```")
    wrong = (
        "```python\n1 / 0\n```",
        "```python\nimport warnings\nwarnings.warn('x')\n```",
        "```console\n$ false\n```",
        "<!-- fails -->\n```console\n$ true\n```",
        "```console\nno prompt\n```",
    )
    for text in wrong:
        with pytest.raises(runner.BlockError, match=r"page\.md, line"):
            run(text)


def test_titles_of_the_gallery_are_questions():
    assert len(SCRIPTS) >= 10
    for script in SCRIPTS:
        title = script.read_text(encoding="utf-8").splitlines()[1]
        assert title.endswith("?"), script.name


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_gallery_scripts_draw_figures(script, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    monkeypatch.chdir(tmp_path)
    made = runpy.run_path(str(script))
    figures = [getattr(value, "figure_", value) for value in made.values()]
    assert any(isinstance(figure, Figure) and figure.axes for figure in figures)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_names_of_the_library_exist(page):
    for target in re.findall(
        r"\{py:obj\}`(?:[^`<]*<)?~?([\w.]+)>?`", page.read_text(encoding="utf-8")
    ):
        assert exists(target), target


def exists(target: str) -> bool:
    package, _, attribute = target.rpartition(".")
    try:
        return hasattr(importlib.import_module(package), attribute) or bool(
            importlib.util.find_spec(target)
        )
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_mentioned_files_exist(page):
    named = re.findall(r"`((?:\w+/)+\w+\.(?:py|toml))`", (ROOT / page).read_text(encoding="utf-8"))
    assert len(named) >= 5
    assert [
        place
        for place in named
        if not any((root / place).exists() for root in (ROOT, ROOT / "src/ldlearn"))
    ] == []


def test_modules_that_name_methods_are_listed():
    """ARCHITECTURE.md lists the modules outside the packages of methods that import one."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "ldlearn"
    methods = {name for name, _ in all_estimators()}
    importers = set()
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and methods & {each.name for each in node.names}:
                importers.add(path.relative_to(source))
    outside = {path for path in importers if path.parts[0] not in METHOD_PACKAGES}
    assert len(outside) > 5
    missing = [path for path in outside if f"`{path}`" not in text and path.parts[0] != "dask"]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_exist(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if "://" in target or "auto_examples/" in target or target.startswith(("api/", "../api/")):
            continue  # generated pages are checked in test_site.py
        assert (page.parent / target).exists(), target
