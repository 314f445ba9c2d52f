"""What users import and pass by name stays, whichever file it moves to."""

import importlib

import pytest

from ldlearn.exceptions import FileError
from ldlearn.experiments.methods import MethodSpec
from ldlearn.tables import load_table_model

NAMES = {
    "models": "NamedEmbedding PreparedTable import_embedding prepare_table",
    "reporting": "Finding audit_paper",
    "results": "RecordsFile best_floor",
}


@pytest.mark.parametrize(("package", "name"), [(package, name) for package in NAMES for name in NAMES[package].split()])
def test_a_public_name_stays_where_it_was(package, name):
    assert hasattr(importlib.import_module(f"ldlearn.{package}"), name)


def test_a_model_of_a_table_is_loaded_by_its_path(tmp_path):
    with pytest.raises(FileError, match=r"none\.ldl"):
        load_table_model(path=tmp_path / "none.ldl")


@pytest.mark.parametrize(("estimator", "can"), [("DLDL", True), ("FCM", False)])
def test_a_method_of_a_plan_says_whether_it_can_enhance(estimator, can):
    assert MethodSpec(estimator, estimator).can_enhance is can
