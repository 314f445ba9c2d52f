"""Labels in a data frame are matched by name, as features are."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ldlearn import DLDL, SABFGS, FromDistributions
from ldlearn.exceptions import InputError

NAMES = ["sky", "sea", "sand"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
D = np.exp(X @ RNG.normal(size=(2, 3)))
D /= D.sum(axis=1, keepdims=True)
Y = (D > 0.25).astype(float)
OTHER = ["sand", "sky", "sea"]
Y[:, 0] = 1
LIBRARIES = pytest.mark.parametrize(
    "frame", [pd.DataFrame, lambda values, columns: pl.DataFrame(values, schema=columns)]
)


@LIBRARIES
def test_score_and_enhance_match_labels_by_name(frame):
    model = DLDL().fit(X, frame(Y, columns=NAMES))
    learner = SABFGS().fit(X, frame(D, columns=NAMES))
    order = [NAMES.index(name) for name in OTHER]
    np.testing.assert_array_equal(
        model.enhance(X, frame(Y[:, order], columns=OTHER)), model.enhance(X, Y)
    )
    for fitted, truth in ((learner, D), (model, Y)):
        assert fitted.score(X, frame(truth[:, order], columns=OTHER)) == fitted.score(X, truth)
    assert learner.score(X, D) != learner.score(
        X, D[:, order]
    )  # otherwise the lines above would test nothing


@LIBRARIES
def test_names_that_do_not_match_raise(frame):
    model = DLDL().fit(X, frame(Y, columns=NAMES))
    with pytest.raises(
        InputError, match=r"label 'sea' is missing in y; is 'see' the label 'sea'\? Then rename it"
    ):
        model.score(X, frame(Y, columns=["sky", "see", "sand"]))
    with pytest.raises(InputError, match="label 'sand' is missing in y"):
        model.enhance(X, frame(Y[:, :2], columns=NAMES[:2]))
    with pytest.raises(InputError, match="column 'rain' of y is not among the labels"):
        model.enhance(X, frame(np.hstack([Y, Y[:, :1]]), columns=[*NAMES, "rain"]))


def test_model_fitted_without_names_matches_by_position():
    model = DLDL().fit(X, Y)
    assert model.score(X, pd.DataFrame(Y, columns=OTHER)) == model.score(X, Y)
    with pytest.raises(InputError, match="2 label columns"):
        model.score(X, pd.DataFrame(Y[:, :2]))


def test_integer_names():
    model = DLDL().fit(X, pd.DataFrame(Y, columns=[7, 8, 9]))
    assert model.score(X, pd.DataFrame(Y[:, [2, 0, 1]], columns=[9, 7, 8])) == model.score(X, Y)


@LIBRARIES
def test_from_distributions_matches_labels_by_name(frame):
    model = FromDistributions(estimator=DLDL(), scoring="recovery").fit(X, frame(D, columns=NAMES))
    order = [NAMES.index(name) for name in OTHER]
    shuffled = frame(D[:, order], columns=OTHER)
    np.testing.assert_array_equal(model.enhance(X, shuffled), model.enhance(X, D))
    assert model.score(X, shuffled) == pytest.approx(
        model.score(X, D), rel=1e-14
    )  # sums in another order
