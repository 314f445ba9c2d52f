import subprocess
import sys

import pytest

import ldlearn
from ldlearn import all_estimators


def test_every_kind_is_found_once():
    names = [name for name, _ in all_estimators()]
    assert names == sorted(set(names))
    assert {
        "DLDL",
        "UniformLE",
        "PriorLE",
        "ProjectedPriorLE",
        "MeanLDL",
        "SABFGS",
        "EnhanceThenLearn",
    } <= set(names)
    by_kind = [dict(all_estimators(kind)) for kind in ("enhancer", "learner", "joint")]
    assert sum(map(len, by_kind)) == len(names)
    assert "DLDL" in by_kind[2]
    for name, cls in all_estimators():
        assert getattr(ldlearn, name) is cls


def test_unknown_kind():
    with pytest.raises(ValueError, match="enhancer, learner, joint"):
        all_estimators("transformer")


BLOCK_EXTRAS = """
import sys
EXTRAS = "pandas polars pyarrow h5py matplotlib typer rich jinja2 onnx pooch distributed".split()
class NotInstalled:  # None in sys.modules would do, but scikit-learn 1.6 takes it for a module
    def find_spec(self, name, *_):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, NotInstalled())
import ldlearn
assert "sklearn" not in sys.modules
from ldlearn import DLDL, all_estimators
assert DLDL().kind == "joint" and "sklearn" in sys.modules
from ldlearn.core import binarize
from ldlearn.datasets import load_vader_tweets
data = load_vader_tweets()
print(len(all_estimators()), DLDL().fit(data.X, binarize(data.D)).predict(data.X).shape)
"""


def test_library_works_without_any_extra():
    found = subprocess.run(
        [sys.executable, "-c", BLOCK_EXTRAS], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.split(maxsplit=1)[1].strip() == "(4004, 9)"
