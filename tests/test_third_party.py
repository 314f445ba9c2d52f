"""A method of another package: the template of docs/add_a_method.md, built and installed as a package of its own."""

import importlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tiny_plans import tiny_dict

from ldlearn.base import Capabilities, Enhancer
from ldlearn.base.discovery import estimator_name, external_methods, find_estimator
from ldlearn.base.parameters import PositiveInt, estimator_dataclass
from ldlearn.cli.main import main
from ldlearn.compose.method_names import make_predictor, method_name
from ldlearn.core.simplex import normalize_rows
from ldlearn.exceptions import ParameterError
from ldlearn.experiments import Plan, run_plan
from ldlearn.experiments.toml_table import PlanError
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


def call(*words):
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


def test_it_is_found_by_path_and_by_entry_point(installed):
    assert find_estimator(PATH) is find_estimator("neighbourmeanle")
    assert estimator_name(find_estimator(PATH)) == PATH
    assert method_name(make_predictor(f"{PATH}+AAKNN")) == f"{PATH}+AAKNN"
    assert list(external_methods()) == ["NeighbourMeanLE"]


def test_it_is_listed_with_its_origin(installed, capsys):
    assert call("methods", "--kind", "enhancer") == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("NeighbourMeanLE"))
    assert "ldlearn-neighbour-mean" in line


def test_a_broken_package_hides_no_other_method(site, tmp_path, monkeypatch, capsys):
    shutil.copytree(site, tmp_path / "broken")
    (tmp_path / "broken" / "neighbour_mean.py").write_text("import a_module_that_does_not_exist\n")
    monkeypatch.syspath_prepend(tmp_path / "broken")
    assert call("methods") == 0
    heard = capsys.readouterr()
    assert "a_module_that_does_not_exist" in heard.err
    assert "DLDL" in heard.out


def test_it_keeps_the_contract(installed):
    check_estimator(find_estimator(PATH))


def test_it_runs_in_a_plan(installed, tmp_path):
    methods = {"UniformLE": {}, "Mine": {"estimator": PATH, "grid": {"n_neighbors": [3, 5]}}, "NeighbourMeanLE": {}}
    plan = Plan.from_dict(tiny_dict(methods=methods))
    run_plan(plan, tmp_path / "run")
    assert call("report", str(tmp_path / "run")) == 0
    page = next((tmp_path / "run").rglob("*.html")).read_text(encoding="utf-8")
    assert "Mine" in page
    records = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").read_text().splitlines()]
    assert {record["method"] for record in records if record.get("error") is None} >= {"Mine", "NeighbourMeanLE"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.at_all:Method", "cannot be imported"),
        ("json:JSONDecoder", "no subclass of Enhancer"),
        ("json:Nothing", "there is none of this name"),
        (":Method", "cannot be imported"),
    ],
)
def test_a_wrong_name_is_one_sentence(name, message, capsys):
    with pytest.raises(ParameterError, match=message):
        find_estimator(name)
    with pytest.raises(PlanError, match=rf"methods\.Mine\.estimator: .*{message}"):
        Plan.from_dict(tiny_dict(methods={"Mine": {"estimator": name}}))


def test_a_learner_of_a_pair_must_be_one(installed):
    with pytest.raises(PlanError, match="learner"):
        Plan.from_dict(tiny_dict(methods={"Pair": {"estimator": "UniformLE", "learner": PATH}}))


class Sound(Enhancer):
    """Equal degrees of the positive labels.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels)

    Notes
    -----
    Departures from the paper: none.

    Examples
    --------
    >>> Sound()
    Sound()
    """

    is_baseline = True

    def capabilities(self):
        return Capabilities(keeps_zeros=True)

    def _fit(self, X, Y):
        self.label_distributions_ = normalize_rows(Y.astype(X.dtype))


class WithoutTuple(Sound):
    _test_params = [{}]  # noqa: RUF012


class WithoutConstraint(Sound):
    def __init__(self, strength=1.0):
        self.strength = strength


class Undeclared(Sound):
    is_baseline = False


class ForgetsZeros(Sound):
    def capabilities(self):
        return Capabilities()


class NotNormalised(Sound):
    def _fit(self, X, Y):
        self.label_distributions_ = 2.0 * normalize_rows(Y.astype(X.dtype))


@estimator_dataclass
class NoConvergence(Sound):
    __doc__ = Sound.__doc__.replace("positive labels", "positive labels; max_iter has no effect")

    max_iter: PositiveInt = 3


class UsesGlobalGenerator(Sound):
    def _fit(self, X, Y):
        np.random.random()  # noqa: NPY002
        super()._fit(X, Y)


class ChangesInput(Sound):
    def _fit(self, X, Y):
        super()._fit(X, Y)
        X += 1.0


class WithoutDocstring(Sound):
    """Equal degrees."""


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (object, "subclass of Enhancer"),
        (WithoutTuple, "tuple of dictionaries"),
        (WithoutConstraint, "_parameter_constraints must say what strength"),
        (Undeclared, "is_baseline = True"),
        (ForgetsZeros, "keeps_zeros=True"),
        (NotNormalised, "check_outputs_are_distributions"),
        (NoConvergence, "converged_ and n_iter_"),
        (UsesGlobalGenerator, "global random generator"),
        (ChangesInput, "changes X"),
        (WithoutDocstring, "docstring of the class lacks"),
    ],
)
def test_each_violation_is_named(cls, message):
    with pytest.raises(AssertionError, match=message):
        check_estimator(cls)


def test_a_sound_method_passes():
    check_estimator(Sound())
