"""The tools that test the tests: their lists are complete and match the source."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
if not TOOLS.is_dir():
    pytest.skip("the tools are not part of this copy of the project", allow_module_level=True)


def load(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module
    spec.loader.exec_module(module)
    return module


mutants, test_everywhere, install = load("mutants"), load("test_everywhere"), load("install")


def test_importing_the_tools_does_not_change_the_environment(monkeypatch):
    """Processes started later would inherit the setting and recompile their imports."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = dict(os.environ)
    for name in ("mutants", "test_everywhere", "install"):
        load(name)
    assert os.environ == before
    assert not sys.dont_write_bytecode


def test_every_mutation_still_applies():
    found = mutants.read_mutations()
    assert [fault for mutation in found if (fault := mutation.fault())] == []
    assert len(found) >= 80
    assert len(set(found)) == len(found)


def test_no_mutation_relies_on_stored_results():
    assert not [m for m in mutants.read_mutations() if any("golden" in name for name in m.tests)]


def test_at_most_two_mutations_are_declared_equivalent():
    assert sum(bool(mutation.equivalent) for mutation in mutants.read_mutations()) <= 2


def test_mutation_that_does_not_apply_is_an_error():
    sound = mutants.read_mutations()[0]
    assert "0 times" in replace(sound, old="no such text").fault()
    assert "does not exist" in replace(sound, file="nothing.py").fault()
    assert "be changed" in replace(sound, new=sound.old).fault()
    assert "no tests nowhere" in replace(sound, tests=("nowhere",)).fault()


def test_mutation_is_detected_only_if_a_test_fails(tmp_path):
    listed = tmp_path / "list.toml"
    old = "np.asarray(delta < D, dtype=np.int8)"
    wrong, harmless = (
        f"['{old}', '{old.replace('<', '>')}', 'wrong']",
        f"['{old}', '({old})', 'harmless']",
    )
    listed.write_text(f"""
        ['core/logical.py']
        tests = ['core/test_logical.py']
        mutations = [{wrong}, {harmless}]
        [equivalent]
        'core/logical.py: harmless' = 'only brackets'
    """)
    command = [sys.executable, TOOLS / "mutants.py", "--list", listed]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr  # the survivor is declared equivalent
    assert "wrong: noticed by core/test_logical.py::" in done.stdout
    assert "harmless: SURVIVED" in done.stdout
    assert old in (TOOLS.parent / "src" / "ldlearn" / "core" / "logical.py").read_text()


def test_tests_of_a_mutation_may_start_processes(monkeypatch):
    process = multiprocessing.Process(daemon=True)  # as worker processes of a pool are
    monkeypatch.setattr(multiprocessing, "current_process", lambda: process)
    monkeypatch.setattr(mutants, "COPIED", ())
    monkeypatch.setattr(mutants, "first_failure", lambda *_: f"daemon: {process.daemon}")
    assert mutants.detecting_test((None, (), 1)) == "daemon: False"


def test_only_survivors_not_declared_equivalent_are_failures():
    mutation = replace(mutants.read_mutations()[0], equivalent="")
    assert mutants.exit_code([]) == mutants.exit_code([replace(mutation, equivalent="why")]) == 0
    assert mutants.exit_code([mutation]) == 1


def test_matrix_covers_all_settings():
    pythons = {version: Path(sys.executable) for version in test_everywhere.PYTHONS}
    cells = list(test_everywhere.make_cells(pythons, full=False))
    assert len({cell.name for cell in cells}) == len(cells)
    assert {cell.environment.name for cell in cells} == {
        "py3.11",
        "py3.12",
        "py3.13",
        "py3.14",
        "oldest",
    }
    assert {cell.threads for cell in cells} == {1, 2}
    assert {cell.dispatch for cell in cells} == {True, False}
    assert {cell.kernel for cell in cells} == {None, *test_everywhere.kernels_of_this_processor()}
    assert not any(
        cell.paths for cell in cells if cell.kernel is None and cell.dispatch and cell.threads == 1
    )
    for path in test_everywhere.NUMERICAL:
        assert (TOOLS.parent / path).exists(), path


def test_oldest_versions_are_exact():
    pins = test_everywhere.oldest_versions()
    core, extras = pins[:3], pins[3:]
    assert {pin.partition("==")[0] for pin in core} == {"numpy", "scipy", "scikit-learn"}
    assert all(pin.count(".") == 2 for pin in core), "a bound like >=1.26 would be tried as 1.26.0"
    assert {"typer", "pandas", "matplotlib", "dask[distributed]"} < {
        pin.partition("==")[0] for pin in extras
    }


def test_ignored_setting_fails_its_cell():
    cell = test_everywhere.Cell(
        test_everywhere.Environment("py", Path(sys.executable)), "Haswell", threads=2
    )
    cell._check_settings({"kernels": ["Haswell"], "threads": [2], "dispatched": ["AVX2"]})
    for found in ({"kernels": ["SkylakeX"]}, {"threads": [1]}):
        with pytest.raises(test_everywhere.SetUpError, match="instead"):
            cell._check_settings({"kernels": ["Haswell"], "threads": [2], "dispatched": []} | found)
    with pytest.raises(test_everywhere.SetUpError, match="still dispatches to AVX2"):
        replace(cell, dispatch=False)._check_settings(
            {"kernels": ["Haswell"], "threads": [2], "dispatched": ["AVX2"]}
        )


LISTING = r"""
:env:.default-timeout='180'
:env:.no-index='true'
:env:.extra-index-url='https://a/simple\nhttps://b/simple?x=1'
download.index-url='https://download'
global.extra-index-url='https://weaker'
global.index-url='https://weaker'
global.find-links='/wheels /more'
global.trusted-host='a b'
global.cert='/a.pem'
install.index-url='https://mirror/simple'
"""


class RecordedCommands:
    """Record commands instead of running them; commands that contain one of `fails` fail."""

    def __init__(self, monkeypatch, *fails):
        self.fails, self.run_so_far, self.env = fails, [], {}
        monkeypatch.setattr(install.subprocess, "run", self.run)
        monkeypatch.setattr(
            install.subprocess, "call", lambda command: self.run(command).returncode
        )

    def run(self, command, env=None, **_):
        self.run_so_far.append(" ".join(command[2:]).replace(f"--python {sys.executable} ", "", 1))
        if any(text in self.run_so_far[-1] for text in self.fails):
            raise subprocess.CalledProcessError(
                2, command, stderr="WARNING: slow\nerror: no such thing\n"
            )
        self.env = env or self.env
        return subprocess.CompletedProcess(command, 0, stdout=LISTING)

    def beginnings(self):
        """The first two arguments of each command; the first two commands run concurrently and are
        sorted."""
        found = [" ".join(command.split()[:2]) for command in self.run_so_far]
        return [*found[:-3], *sorted(found[-3:-1]), found[-1]]


def test_uv_uses_the_index_settings_of_pip(monkeypatch):
    variables = [variable for variable, _ in install.SETTINGS.values()]
    for variable in variables:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", "/already.pem")
    commands = RecordedCommands(monkeypatch)
    install.main("dev")
    assert commands.beginnings() == ["import pip", "pip config", "pip install", "uv pip"]
    assert "--no-index -e .[dev]" in commands.run_so_far[-1]
    assert {variable: commands.env.get(variable) for variable in variables} == {
        "UV_INDEX_URL": "https://mirror/simple",
        "UV_EXTRA_INDEX_URL": "https://a/simple https://b/simple?x=1",
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_INSECURE_HOST": "a b",
        "SSL_CERT_FILE": "/already.pem",  # settings of uv override
        "ALL_PROXY": None,
    }


def test_pip_is_added_only_if_missing(monkeypatch):
    commands = RecordedCommands(monkeypatch, "import pip")
    install.main("dev")
    assert commands.beginnings() == [
        "import pip",
        "ensurepip",
        "pip config",
        "pip install",
        "uv pip",
    ]


@pytest.mark.parametrize("fails", ["uv uv", "config list", "uv pip install"])
def test_pip_is_the_fallback_with_a_message(monkeypatch, capsys, fails):
    commands = RecordedCommands(monkeypatch, fails)
    with pytest.raises(SystemExit) as end:
        install.main("all")
    assert end.value.code == 0
    assert commands.run_so_far[-2:] == [
        "ensurepip",  # the environment was created without pip
        "pip install --no-compile -q -c constraints.txt -e .[all]",
    ]
    assert "(error: no such thing)" in capsys.readouterr().out


def test_uv_is_pinned_and_not_required():
    root = TOOLS.parent
    assert "\nuv==" in (root / "constraints.txt").read_text()
    assert '"uv' not in (root / "pyproject.toml").read_text()
