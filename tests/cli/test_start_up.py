"""The commands are one list, and starting imports nothing that only a command needs."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import fork_server
import pytest
import typer

import ldlearn
from ldlearn.cli import app

HEAVY = {"sklearn", "scipy", "pandas", "matplotlib", "dask", "distributed", "pyarrow", "onnx", "jinja2", "joblib"}
# Runs statements and prints, as its last line, the top-level packages that they have imported.
PROBE = """
import json, sys
for statement in {statements!r}:
    try:
        exec(statement)
    except SystemExit as ended:
        assert not ended.code, ended.code
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""


def imported_by(*statements: str) -> set[str]:
    """The packages that a fresh process has imported after some statements."""
    words = [sys.executable, "-c", PROBE.format(statements=statements)]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return set(json.loads(found.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "statement",
    [
        "import ldlearn",
        "from ldlearn.cli.main import main; main(['--version'])",
        "from ldlearn.cli.main import main; main(['--help'])",
    ],
)
def test_starting_imports_nothing_heavy(statement):
    assert not imported_by(statement) & HEAVY


def test_without_typer_the_error_names_the_packages():
    program = "import sys; sys.modules['typer'] = None; from ldlearn.cli.main import main; main(['methods'])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr.count("\n")) == (2, 1), found.stderr
    assert found.stderr.startswith("ldlearn: Commands need typer: pip install typer")


@pytest.mark.parametrize("words", [["--version"], ["no-such-command"]])
def test_forked_and_new_processes_say_the_same_and_end_the_same(words):
    """Other tests use the forked ones."""
    new, forked = (
        subprocess.run([*start, *words], capture_output=True, check=False)
        for start in ([sys.executable, "-m", "ldlearn.cli"], fork_server.command())
    )
    assert (new.returncode, new.stdout, new.stderr) == (forked.returncode, forked.stdout, forked.stderr)
    assert new.returncode == (0 if words == ["--version"] else 2)


def test_a_command_imports_only_what_it_needs():
    found = imported_by("from ldlearn.cli.main import main", "main(['methods'])")
    assert "sklearn" in found
    assert not found & {"matplotlib", "distributed", "onnx", "jinja2"}


def test_estimators_come_from_the_top_when_they_are_asked_for():
    """That a fresh process gets them is seen by `test_the_library_works_without_any_extra`."""
    from ldlearn import DLDL, all_estimators  # noqa: F401

    assert {"DLDL", "GLLE", "SABFGS", "EnhanceThenLearn", "all_estimators"} <= set(ldlearn.__all__) & set(dir(ldlearn))
    assert ldlearn.metrics.intersection([[1.0, 0.0]], [[0.5, 0.5]]) == 0.5
    assert not hasattr(ldlearn, "DLLD")
    with pytest.raises(ImportError):
        from ldlearn import DLLD  # noqa: F401


@pytest.mark.parametrize("entry", app.COMMANDS, ids=lambda entry: entry.name)
def test_the_help_page_has_the_first_line_of_the_docstring(entry):
    """The help page does not import the commands, so the two could differ."""
    assert app.load_command(entry.name).help.partition("\n")[0] == entry.help


COMMAND = '''
import typer
from ldlearn.cli.options import DialectOptions

def greet_labels(names: str, loud: bool = False, *, style: DialectOptions) -> None:
    """Greet every label."""
    if names == "unknown":
        raise LookupError("an error that the command did not foresee")
    typer.echo(f"Hello, {names}{style.decimal or ('!' if loud else '.')}")
'''


@pytest.fixture
def new_command(tmp_path, monkeypatch):
    """A command added as CONTRIBUTING.md says: a file in `ldlearn.cli`, and a line in its list."""
    (tmp_path / "greet_labels.py").write_text(COMMAND)
    monkeypatch.setattr("ldlearn.cli.__path__", [*sys.modules["ldlearn.cli"].__path__, str(tmp_path)])
    entry = app.Entry("greet-labels", "greet_labels", "Greet every label.", app.OWN_TABLES)
    monkeypatch.setattr(app, "COMMANDS", (*app.COMMANDS, entry))
    yield entry
    app.load_command.cache_clear()
    sys.modules.pop("ldlearn.cli.greet_labels", None)


def test_a_new_command_is_one_file_and_one_line(new_command, run):
    assert "greet-labels" in run("--help").out
    assert "ldlearn.cli.greet_labels" not in sys.modules
    assert run("greet-labels", "sky", "--loud").out == "Hello, sky!\n"
    assert run("greet-labels", "sky", "--decimal", ",").out == "Hello, sky,\n"
    assert "Greet every label." in run("greet-labels", "--help").out
    assert run("greet-labels").code == 2


def test_an_error_that_is_not_ours_is_called_a_bug(new_command, run):
    result = run("greet-labels", "unknown")
    assert (result.code, result.err.count("\n")) == (1, 1)
    for part in ("bug of ldlearn", "LookupError: an error that", "report it", "--debug"):
        assert part in result.err
    with pytest.raises(LookupError):
        ldlearn.cli.main.main(["greet-labels", "unknown", "--debug"])


def test_commands_are_functions_that_python_can_call():
    for entry in app.COMMANDS:
        found = app.find_command(entry.name)
        assert isinstance(found, typer.Typer) or inspect.isfunction(found)
