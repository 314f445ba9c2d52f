"""CountLDL: what its parts are to each other."""

import numpy as np
import pytest
from scipy.special import softmax

from ldlearn import CountLDL
from ldlearn.datasets import make_label_distributions


@pytest.fixture(scope="module")
def fitted():
    data = make_label_distributions(120, 5, 4, random_state=0)
    votes = np.random.default_rng(0).multinomial(3, data.D)
    return data.X, votes, CountLDL(gamma=1.0).fit(data.X, votes)


def test_prediction_is_a_softmax_of_linear_scores(fitted):
    X, _, model = fitted
    scores = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict(X), softmax(scores, axis=1), rtol=1e-10)


def test_rows_without_votes_get_the_prediction(fitted):
    X, votes, model = fitted
    some = votes[:6].copy()
    some[[1, 4]] = 0
    D = model.enhance(X[:6], some)
    np.testing.assert_allclose(D[[1, 4]], model.predict(X[[1, 4]]), rtol=1e-12)
    np.testing.assert_allclose(D[[0, 2]], model.enhance(X[[0, 2]], some[[0, 2]]), rtol=1e-12)
    lower, upper = model.enhance_interval(X[:6], some)
    for found, expected in zip((lower, upper), model.predict_interval(X[[1, 4]]), strict=True):
        np.testing.assert_allclose(found[[1, 4]], expected, rtol=1e-12)
    assert (lower <= D).all()
    assert (upper >= D).all()
