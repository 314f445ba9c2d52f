"""SA-BFGS: both solvers, invariance to units and offsets, certificate."""

import numpy as np
import pytest
from estimator_cases import make_problem
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ldlearn import SABFGS, MeanLDL
from ldlearn.core import softmax


def test_both_solvers_reach_the_same_minimum():
    X, D, _ = make_problem()
    for fit_intercept in (True, False):
        newton = SABFGS(l2=0.3, fit_intercept=fit_intercept, tol=1e-12).fit(X, D)
        lbfgs = SABFGS(
            l2=0.3, fit_intercept=fit_intercept, solver="lbfgs", tol=1e-15, max_iter=2000
        ).fit(X, D)
        np.testing.assert_allclose(lbfgs.predict(X), newton.predict(X), atol=1e-5)
        assert newton.objective_ <= lbfgs.objective_ + 1e-9


def test_published_form_is_stopped_early():
    X, D, _ = make_problem()
    with pytest.warns(ConvergenceWarning, match="SABFGS stopped after 3 iterations"):
        stopped = SABFGS(l2=0.0, fit_intercept=False, solver="lbfgs", max_iter=3).fit(X, D)
    assert stopped.n_iter_ == 3
    assert not stopped.converged_
    assert stopped.objective_ > SABFGS(l2=0.0, fit_intercept=False).fit(X, D).objective_
    assert (stopped.intercept_ == 0).all()


def two_informative_columns():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(1000, 2))
    return V, softmax(V @ rng.normal(size=(2, 4)) + 0.03 * rng.normal(size=(1000, 4)))


def test_time_stamp_column_does_not_worsen_the_fit():
    V, D = two_informative_columns()
    stamps = 1.7e9 + np.random.default_rng(1).uniform(0.0, 3e7, size=len(V))
    X = np.column_stack([V, stamps])
    without, model = SABFGS().fit(V, D), SABFGS().fit(X, D)
    assert MeanLDL().fit(V, D).score(V, D) < 0.8
    assert without.score(V, D) > 0.98
    assert model.score(X, D) > 0.98
    assert (
        model.objective_ <= without.objective_
    )  # the same coefficients with 0 for the time stamps are feasible
    assert model.converged_


@pytest.mark.parametrize("offset", [1e4, 1e8, -3e7])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_offset_changes_only_the_intercept(offset, container):
    V, D = two_informative_columns()
    plain, far = SABFGS().fit(V, D), SABFGS().fit(container(V + offset), D)
    np.testing.assert_allclose(far.coef_, plain.coef_, atol=1e-5)
    np.testing.assert_allclose(far.predict(container(V + offset)), plain.predict(V), atol=1e-5)
    assert far.converged_


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_invariant_to_offset_in_float32(container):
    """Both fits have the same numbers: V rounded to 1e-3, the resolution of float32 at 1e4."""
    V, D = two_informative_columns()
    far = (V + 1e4).astype(np.float32)
    narrow = SABFGS().fit(container(far), D)
    wide = SABFGS().fit(far.astype(np.float64) - 1e4, D)
    np.testing.assert_allclose(narrow.coef_, wide.coef_, atol=1e-4)
    np.testing.assert_allclose(
        narrow.predict(container(far)), wide.predict(far.astype(np.float64) - 1e4), atol=1e-5
    )


def test_gap_certifies_the_objective():
    X, D, _ = make_problem()
    rough, exact = SABFGS(l2=0.1, tol=1e-3).fit(X, D), SABFGS(l2=0.1, tol=1e-13).fit(X, D)
    assert 0 < rough.objective_ - exact.objective_ <= rough.coef_gap_ <= 1e-3 * len(X)
    P = softmax(X @ rough.coef_.T + rough.intercept_)
    assert rough.objective_ == pytest.approx(
        -np.sum(D * np.log(P)) + 0.1 * np.sum(rough.coef_**2), rel=1e-12
    )
