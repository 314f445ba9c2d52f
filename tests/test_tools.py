"""The tools that test the tests: their lists are complete and match the source."""

from __future__ import annotations

import ast
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


mutants = load("mutants")
test_everywhere = load("test_everywhere")
install = load("install")
draw_architecture = load("draw_architecture")


def test_importing_the_tools_does_not_change_the_environment(monkeypatch):
    """Processes started later would inherit the setting and recompile their imports."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = dict(os.environ)
    for name in ("mutants", "test_everywhere", "install"):
        load(name)
    assert os.environ == before
    assert not sys.dont_write_bytecode


TOY = """
def toy(a: int, b=3):
    '''A text with 1 + 1.'''
    {line}


class Toy:
    def method(self):
        def inner():
            return 1
        return inner
"""


@pytest.fixture
def toy(tmp_path):
    """A function that writes a file of one line and returns its mutants."""
    file = tmp_path / mutants.SOURCE / "toy.py"
    file.parent.mkdir(parents=True)

    def write(line):
        file.write_text(TOY.format(line=line))
        return [
            mutant
            for mutant in mutants.read_mutants("toy.py", tmp_path)
            if mutant.function == "toy"
        ]

    return write


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("return a + b", ["(a - b)", "(a)"]),
        ("return a * b", ["(a / b)", "(a)"]),
        ("return a ** b", ["(a * b)"]),
        ("return a & b", ["(a | b)"]),
        ("return -a", ["(a)"]),
        ("return not a", ["(a)"]),
        ("return a < b", ["(a <= b)"]),
        ("return a == b", ["(a != b)"]),
        ("return a is None", ["(a is not None)"]),
        ("return a and b", ["(a or b)"]),
        ("return 2", ["(3)"]),
        ("return 0.5", ["(1.0)"]),
        ("return 0.0", ["(1.0)"]),
        ("return True", ["(False)"]),
        ("return a if b else None", ["(None if b else a)"]),
        ("if a: b()", ["(not a)", "pass"]),
        ("return f(a, b, key=a)", ["(f(b, a, key=a))"]),
        ("return f(a, a)", []),
        ("return np.maximum(a, b)", ["(np.minimum)"]),
        ("return max(a)", ["(min)"]),
        ("a += b", ["pass", "a -= b"]),
        ("f(a)", ["pass"]),
        ("return a.sum(axis=1)", []),
        ("c: int | None = a", []),
        ("raise ValueError(f'{a + 1} is wrong' + 'x')", []),
        ("return f'{a + 1}'", []),
    ],
)
def test_mutants_of_a_line(toy, line, changed):
    assert [mutant.text for mutant in toy(line)] == changed


def test_mutant_changes_one_place(toy, tmp_path):
    line = "return 'ä' + f(\n        a, # first\n        1) + f(a, 1)"
    found = toy(line)
    changes = [mutant.change for mutant in found]
    assert "f(a, 1) -> f(1, a)" in changes
    assert "f(a, 1) -> f(1, a) (2)" in changes  # the second of the same text
    assert len(set(changes)) == len(changes)
    file = tmp_path / mutants.SOURCE / "toy.py"
    before = file.read_text()
    for mutant in found:
        mutant.apply(tmp_path)
        assert ast.dump(ast.parse(file.read_text())) != ast.dump(ast.parse(before))
        file.write_text(before)
    (last,) = [mutant for mutant in found if mutant.change == "1 -> 2 (2)"]
    last.apply(tmp_path)
    assert file.read_text() == before.replace("+ f(a, 1)", "+ f(a, (2))")


def test_functions_have_qualified_names(toy, tmp_path):
    toy("return 1")
    names = [mutant.function for mutant in mutants.read_mutants("toy.py", tmp_path)]
    assert names == ["toy", "Toy.method.inner"]


def test_every_file_of_mathematics_has_mutants_that_compile(tmp_path):
    for file in ("core/simplex.py", "metrics/labels.py", "solvers/softmax_regression.py"):
        found = mutants.read_mutants(file)
        assert found
        for mutant in mutants.draw(found, 20, seed=1):
            copy = tmp_path / mutants.SOURCE / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((mutants.ROOT / mutants.SOURCE / file).read_bytes())
            mutant.apply(tmp_path)
            ast.parse(copy.read_bytes())


def test_sample_depends_on_the_seed_and_takes_functions_in_turn():
    found = mutants.read_mutants("core/simplex.py")
    drawn = mutants.draw(found, 8, seed=3)
    assert drawn == mutants.draw(found, 8, seed=3) != mutants.draw(found, 8, seed=4)
    assert len({mutant.function for mutant in drawn}) == 8
    assert len(set(mutants.draw(found, 10**6, seed=3))) == len(found)


def test_tests_are_chosen_by_name_and_package():
    assert mutants.tests_of("core/simplex.py") == ("core/test_simplex.py", "core")
    assert mutants.tests_of("dask/parts.py")[-1] == "dask_estimators"
    tests = mutants.tests_of("metrics/against_baselines.py")  # no tests have its name
    assert tests[-1] == "metrics"
    assert "tables/test_signal.py" in tests
    assert mutants.without_repetition(("core/a", "core/b", "tables/c", "core")) == (
        "tables/c",
        "core",
    )
    packages = {path.name for path in (mutants.ROOT / mutants.SOURCE).iterdir() if path.is_dir()}
    for package in packages - {"__pycache__"}:
        tests = mutants.tests_of(f"{package}/some.py")
        assert all((mutants.ROOT / "tests" / name).exists() for name in tests)
        assert not any("golden" in name for name in tests)


def test_equivalent_that_is_no_mutant_is_reported(monkeypatch, tmp_path, capsys):
    listed = tmp_path / "list.toml"
    listed.write_text('["core/simplex.py".softmax]\n"a -> b" = "why"\n')
    stale = mutants.read_equivalent(listed)
    assert stale == {"core/simplex.py: softmax: a -> b": "why"}
    monkeypatch.setattr(mutants, "read_equivalent", lambda: stale)
    monkeypatch.setattr(sys, "argv", ["mutants.py", "--list", "--only", "core/simplex.py"])
    mutants.main()
    first = capsys.readouterr().out.splitlines()[0]
    assert first == (
        "listed as equivalent, but no mutant any more: core/simplex.py: softmax: a -> b"
    )


RUN = """
import dataclasses, sys
sys.path.insert(0, {tools!r})
import mutants

mutants.tests_of = lambda file: ("core/test_logical.py",)
found = mutants.read_mutants("core/logical.py")
wrong = next(mutant for mutant in found if mutant.change == "delta < D -> delta <= D")
harmless = dataclasses.replace(wrong, change="harmless", text="(delta < D)")
listed = {{harmless.key: "only brackets"}}
print("exit code", mutants.run([wrong, harmless], listed, jobs=1, minutes=5))
print("exit code", mutants.run([harmless], {{}}, jobs=1, minutes=5))
"""


def test_mutant_is_noticed_only_if_a_test_fails():
    program = RUN.format(tools=str(TOOLS))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    noticed, equivalent, summary, code, survived, *rest = done.stdout.splitlines()
    assert "delta <= D: noticed by core/test_logical.py::" in noticed
    assert equivalent.endswith("harmless: only brackets")
    assert summary == "2 of 2 mutants, 0 survive"
    assert code == "exit code 0"
    assert survived.endswith("harmless: SURVIVED")
    assert rest[-1] == "exit code 1"
    assert "delta < D" in (TOOLS.parent / "src" / "ldlearn" / "core" / "logical.py").read_text()


def test_tests_of_a_mutant_may_start_processes(monkeypatch):
    process = multiprocessing.Process(daemon=True)  # as worker processes of a pool are
    monkeypatch.setattr(multiprocessing, "current_process", lambda: process)
    monkeypatch.setattr(mutants, "COPIED", ())
    monkeypatch.setattr(mutants, "first_failure", lambda *_: f"daemon: {process.daemon}")
    assert mutants.noticing_test((None, (), 1)) == "daemon: False"


@pytest.mark.parametrize("name", ["architecture-light.svg", "architecture-dark.svg"])
def test_picture_of_the_layers_is_up_to_date(name):
    stored = (draw_architecture.TARGET / name).read_text(encoding="utf-8")
    assert stored == draw_architecture.pictures()[name], "run python tools/draw_architecture.py"


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
