"""Private names of scikit-learn are imported in one module and behave as expected."""

import re
from numbers import Real
from pathlib import Path

import ldlearn
from ldlearn.base.sklearn_private import HasMethods, Interval, InvalidParameterError, StrOptions


def test_only_one_module_imports_private_names():
    private = re.compile(
        r"^\s*(?:from|import)\s+sklearn(?:\.\w+)*\.?(?:\._|.*import\s+(?:\w+,\s*)*_)", re.MULTILINE
    )
    root = Path(ldlearn.__file__).parent
    importers = {
        p.name for p in root.rglob("*.py") if private.search(p.read_text(encoding="utf-8"))
    }
    assert importers == {"sklearn_private.py"}


def test_private_names_behave_as_expected():
    assert Interval(Real, 0, 1, closed="left").is_satisfied_by(0.0)
    assert not Interval(Real, 0, 1, closed="left").is_satisfied_by(1.0)
    assert StrOptions({"a"}).is_satisfied_by("a")
    assert not StrOptions({"a"}).is_satisfied_by("b")
    assert HasMethods(["fit"]).is_satisfied_by(ldlearn.DLDL())
    assert not HasMethods(["fly"]).is_satisfied_by(ldlearn.DLDL())
    assert issubclass(InvalidParameterError, ValueError)
