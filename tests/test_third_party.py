"""A method of another package: the template of docs/add_a_method.md, built and installed."""

import importlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.neighbors import NearestNeighbors
from tiny_plans import tiny_dict

from ldlearn.base import Enhancer
from ldlearn.base.discovery import estimator_name, external_methods, find_estimator
from ldlearn.base.parameters import PositiveInt, estimator_dataclass
from ldlearn.cli.main import main
from ldlearn.compose.method_names import make_predictor, method_name
from ldlearn.core.simplex import normalize_rows
from ldlearn.exceptions import LDLearnError, ModelFileError, ParameterError
from ldlearn.experiments import Plan, run_plan
from ldlearn.experiments.toml_table import PlanError
from ldlearn.tables import load_model, model_schema, save_model
from ldlearn.testing import check_estimator

TEMPLATE = Path(__file__).resolve().parents[1] / "docs" / "new_method"
PATH = "neighbour_mean:NeighbourMeanLE"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder into which the wheel of the template is installed."""
    folder = tmp_path_factory.mktemp("third_party")
    shutil.copytree(TEMPLATE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=folder / "source", check=True, capture_output=True)
    zipfile.ZipFile(next(folder.glob("*.whl"))).extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def installed(site, monkeypatch):
    monkeypatch.syspath_prepend(site)
    yield
    sys.modules.pop("neighbour_mean", None)
    importlib.invalidate_caches()


def run_command(*arguments):
    with pytest.raises(SystemExit) as exit_info:
        main(list(arguments))
    return exit_info.value.code


def test_method_is_found_by_path_and_by_entry_point(installed):
    assert find_estimator(PATH) is find_estimator("neighbourmeanle")
    assert estimator_name(find_estimator(PATH)) == PATH
    assert method_name(make_predictor(f"{PATH}+AAKNN")) == f"{PATH}+AAKNN"
    assert list(external_methods()) == ["NeighbourMeanLE"]


def test_method_is_listed_with_its_origin(installed, capsys):
    assert run_command("methods", "--kind", "enhancer") == 0
    line = next(
        line for line in capsys.readouterr().out.splitlines() if line.startswith("NeighbourMeanLE")
    )
    assert "ldlearn-neighbour-mean" in line


def test_broken_package_hides_no_other_method(site, tmp_path, monkeypatch, capsys):
    shutil.copytree(site, tmp_path / "broken")
    (tmp_path / "broken" / "neighbour_mean.py").write_text("import a_module_that_does_not_exist\n")
    monkeypatch.syspath_prepend(tmp_path / "broken")
    assert run_command("methods") == 0
    messages = capsys.readouterr()
    assert "a_module_that_does_not_exist" in messages.err
    assert "DLDL" in messages.out


def test_method_passes_the_contract(installed):
    check_estimator(find_estimator(PATH))


def test_method_runs_in_a_plan(installed, tmp_path):
    methods = {
        "UniformLE": {},
        "Mine": {"estimator": PATH, "grid": {"n_neighbors": [3, 5]}},
        "NeighbourMeanLE": {},
    }
    plan = Plan.from_dict(tiny_dict(methods=methods))
    run_plan(plan, tmp_path / "run")
    assert run_command("report", str(tmp_path / "run")) == 0
    page = next((tmp_path / "run").rglob("*.html")).read_text(encoding="utf-8")
    assert "Mine" in page
    records = [
        json.loads(line) for line in (tmp_path / "run" / "records.jsonl").read_text().splitlines()
    ]
    assert {record["method"] for record in records if record.get("error") is None} >= {
        "Mine",
        "NeighbourMeanLE",
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.at_all:Method", "cannot be imported"),
        ("json:JSONDecoder", "no subclass of Enhancer"),
        ("json:Nothing", "there is none of this name"),
        (":Method", "cannot be imported"),
    ],
)
def test_invalid_name_raises(name, message, capsys):
    with pytest.raises(ParameterError, match=message):
        find_estimator(name)
    with pytest.raises(PlanError, match=rf"methods\.Mine\.estimator: .*{message}"):
        Plan.from_dict(tiny_dict(methods={"Mine": {"estimator": name}}))


@pytest.fixture
def saved(installed, tmp_path, monkeypatch):
    """A table and a model that was fitted with the method, in a process that has neither named nor
    imported it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(model_schema, "_trusted_methods", {})
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = np.column_stack([X + rng.normal(size=X.shape) > 0, np.ones(60)]).astype(int)
    rows = [",".join(map(str, row)) for row in np.column_stack([X, Y]).tolist()]
    Path("data.csv").write_text("\n".join(["x,z,a,b,c", *rows]))
    assert (
        run_command(
            "fit", "data.csv", "-l", "a,b,c", "--method", f"{PATH}+SABFGS", "-o", "model.ldl"
        )
        == 0
    )
    expected = load_model("model.ldl", method=PATH).predict(pandas.read_csv("data.csv"))
    model_schema._trusted_methods.clear()
    sys.modules.pop("neighbour_mean", None)
    return expected


def test_model_file_names_the_method_without_importing_it(saved, capsys):
    for arguments in (["predict", "data.csv", "-m", "model.ldl"], ["inspect", "model.ldl"]):
        assert run_command(*arguments) == 2
        messages = capsys.readouterr().err
        assert f"--method {PATH}" in messages
        assert messages.count("\n") == 1
    with pytest.raises(ModelFileError, match=PATH):
        load_model("model.ldl")
    assert "neighbour_mean" not in sys.modules


def test_model_file_is_loaded_if_the_user_names_the_method(saved, capsys):
    model = ("data.csv", "--model", "model.ldl", "--method", PATH)
    assert run_command("predict", *model, "-o", "out.csv") == 0
    np.testing.assert_array_equal(pandas.read_csv("out.csv"), saved)
    assert run_command("evaluate", *model) == 0
    assert run_command("enhance", *model) == 2  # two-step methods do not enhance new rows
    assert "fitted on" in capsys.readouterr().err
    assert run_command("inspect", "model.ldl", "--method", "neighbourmeanle") == 0
    assert PATH in capsys.readouterr().out


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("os:system", "no subclass of Enhancer"),
        (f"{__name__}:ValidMethod", "imported only if you name it"),
        ("DLDL", PATH),
    ],
)
def test_naming_another_method_does_not_load_it(saved, method, message):
    with pytest.raises(LDLearnError, match=message):
        load_model("model.ldl", method=method)
    assert "neighbour_mean" not in sys.modules


def test_method_that_the_model_does_not_need_is_rejected(tmp_path):
    save_model(ValidMethod().fit(np.eye(4), np.eye(4)), tmp_path / "m.ldl")
    assert load_model(
        tmp_path / "m.ldl", method=f"{__name__}:ValidMethod"
    ).label_distributions_.shape == (4, 4)
    with pytest.raises(ModelFileError, match="not fitted with"):
        load_model(tmp_path / "m.ldl", method=f"{__name__}:Undeclared")


class StoresAnObject(Enhancer):
    def _fit(self, X, Y):
        self.label_distributions_ = normalize_rows(Y.astype(X.dtype))
        self.found_ = self.make()

    def make(self):
        return NearestNeighbors()


class StoresAFunction(StoresAnObject):
    def make(self):
        return len


@pytest.mark.parametrize(
    ("cls", "message"), [(StoresAnObject, "arrays, numbers and texts"), (StoresAFunction, "found_")]
)
def test_only_arrays_numbers_and_texts_are_stored(cls, message, tmp_path):
    with pytest.raises(ModelFileError, match=message):
        save_model(cls().fit(np.eye(4), np.eye(4)), tmp_path / "m.ldl")
    assert not (tmp_path / "m.ldl").exists()


def test_second_step_must_be_a_learner(installed):
    with pytest.raises(PlanError, match="learner"):
        Plan.from_dict(tiny_dict(methods={"Pair": {"estimator": "UniformLE", "learner": PATH}}))


class ValidMethod(Enhancer):
    """Equal degrees of the positive labels.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels)

    Notes
    -----
    Departures from the paper: none.

    Examples
    --------
    >>> ValidMethod()
    ValidMethod()
    """

    is_baseline = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.keeps_zeros = True
        return tags

    def _fit(self, X, Y):
        self.label_distributions_ = normalize_rows(Y.astype(X.dtype))


class WithoutTuple(ValidMethod):
    _test_params = [{}]


class WithoutConstraint(ValidMethod):
    def __init__(self, strength=1.0):
        self.strength = strength


class Undeclared(ValidMethod):
    is_baseline = False


class IgnoresZeros(ValidMethod):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.keeps_zeros = False
        return tags


class NotNormalised(ValidMethod):
    def _fit(self, X, Y):
        self.label_distributions_ = 2.0 * normalize_rows(Y.astype(X.dtype))


@estimator_dataclass
class NoConvergence(ValidMethod):
    __doc__ = ValidMethod.__doc__.replace(
        "positive labels", "positive labels; max_iter has no effect"
    )

    max_iter: PositiveInt = 3


class UsesGlobalGenerator(ValidMethod):
    def _fit(self, X, Y):
        np.random.random()  # noqa: NPY002
        super()._fit(X, Y)


class ChangesInput(ValidMethod):
    def _fit(self, X, Y):
        super()._fit(X, Y)
        X += 1.0


class WithoutDocstring(ValidMethod):
    """Equal degrees."""


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (object, "subclass of Enhancer"),
        (WithoutTuple, "tuple of dictionaries"),
        (WithoutConstraint, "_parameter_constraints must say what strength"),
        (Undeclared, "is_baseline = True"),
        (IgnoresZeros, "keeps_zeros=True"),
        (NotNormalised, "check_outputs_are_distributions"),
        (NoConvergence, "converged_ and n_iter_"),
        (UsesGlobalGenerator, "global random generator"),
        (ChangesInput, "changes X"),
        (WithoutDocstring, "docstring of the class lacks"),
    ],
)
def test_each_violation_is_reported(cls, message):
    with pytest.raises(AssertionError, match=message):
        check_estimator(cls)


def test_valid_method_passes():
    check_estimator(ValidMethod())
