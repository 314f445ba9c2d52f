"""The list of commands, and lazy imports at start-up."""

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

HEAVY = {
    "sklearn",
    "scipy",
    "pandas",
    "matplotlib",
    "dask",
    "distributed",
    "pyarrow",
    "onnx",
    "jinja2",
    "joblib",
}
# Runs statements and prints the imported top-level packages as its last line.
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
    """The packages imported by a new process after some statements."""
    arguments = [sys.executable, "-c", PROBE.format(statements=statements)]
    found = subprocess.run(arguments, capture_output=True, text=True, check=False)
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
def test_start_up_imports_no_heavy_packages(statement):
    assert not imported_by(statement) & HEAVY


def test_without_typer_the_error_names_the_packages():
    program = (
        "import sys; sys.modules['typer'] = None; from ldlearn.cli.main import main; "
        "main(['methods'])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr.count("\n")) == (2, 1), found.stderr
    assert found.stderr.startswith("ldlearn: Commands need typer: pip install typer")


@pytest.mark.parametrize("arguments", [["--version"], ["no-such-command"]])
def test_forked_and_new_processes_have_the_same_output_and_exit_code(arguments):
    """Other tests use forked processes."""
    new, forked = (
        subprocess.run([*start, *arguments], capture_output=True, check=False)
        for start in ([sys.executable, "-m", "ldlearn.cli"], fork_server.command())
    )
    assert (new.returncode, new.stdout, new.stderr) == (
        forked.returncode,
        forked.stdout,
        forked.stderr,
    )
    assert new.returncode == (0 if arguments == ["--version"] else 2)


def test_command_imports_only_what_it_needs():
    found = imported_by("from ldlearn.cli.main import main", "main(['methods'])")
    assert "sklearn" in found
    assert not found & {"matplotlib", "distributed", "onnx", "jinja2"}


def test_estimators_are_lazy_attributes_of_the_package():
    """`test_library_works_without_any_extra` imports them in a new process."""
    from ldlearn import DLDL, all_estimators  # noqa: F401

    assert {"DLDL", "GLLE", "SABFGS", "EnhanceThenLearn", "all_estimators"} <= set(
        ldlearn.__all__
    ) & set(dir(ldlearn))
    assert ldlearn.metrics.intersection([[1.0, 0.0]], [[0.5, 0.5]]) == 0.5
    assert not hasattr(ldlearn, "DLLD")
    with pytest.raises(ImportError):
        from ldlearn import DLLD  # noqa: F401


@pytest.mark.parametrize("entry", app.COMMANDS, ids=lambda entry: entry.name)
def test_help_page_has_the_first_line_of_the_docstring(entry):
    """The help page does not import the commands, so the two could differ."""
    assert app.load_command(entry.name).help.partition("\n")[0] == entry.help


COMMAND = '''
import typer
from ldlearn.tables import Dialect

def greet_labels(names: str, loud: bool = False, *, style: Dialect) -> None:
    """Greet every label."""
    if names == "unknown":
        raise LookupError("an error that the command did not foresee")
    typer.echo(f"Hello, {names}{style.decimal or ('!' if loud else '.')}")
'''


@pytest.fixture
def new_command(tmp_path, monkeypatch):
    """A command added as CONTRIBUTING.md says: a file in `ldlearn.cli`, and a line in its list."""
    (tmp_path / "greet_labels.py").write_text(COMMAND)
    monkeypatch.setattr(
        "ldlearn.cli.__path__", [*sys.modules["ldlearn.cli"].__path__, str(tmp_path)]
    )
    entry = app.CommandEntry("greet-labels", "greet_labels", "Greet every label.", app.OWN_TABLES)
    monkeypatch.setattr(app, "COMMANDS", (*app.COMMANDS, entry))
    yield entry
    app.load_command.cache_clear()
    sys.modules.pop("ldlearn.cli.greet_labels", None)


def test_new_command_needs_one_file_and_one_line(new_command, run):
    assert "greet-labels" in run("--help").out
    assert "ldlearn.cli.greet_labels" not in sys.modules
    assert run("greet-labels", "sky", "--loud").out == "Hello, sky!\n"
    assert run("greet-labels", "sky", "--decimal", ",").out == "Hello, sky,\n"
    assert "Greet every label." in run("greet-labels", "--help").out
    assert run("greet-labels").code == 2


def test_unexpected_errors_are_reported_as_bugs(new_command, run):
    result = run("greet-labels", "unknown")
    assert (result.code, result.err.count("\n")) == (1, 1)
    for part in ("bug of ldlearn", "LookupError: an error that", "report it", "--debug"):
        assert part in result.err
    with pytest.raises(LookupError):
        ldlearn.cli.main.main(["greet-labels", "unknown", "--debug"])


def test_commands_can_be_called_from_python():
    for entry in app.COMMANDS:
        found = app.find_command(entry.name)
        assert isinstance(found, typer.Typer) or inspect.isfunction(found)
