import numpy as np
from estimator_cases import make_problem

from ldlearn import SABFGS


def test_both_solvers_reach_the_same_minimum():
    X, D, _ = make_problem()
    for fit_intercept in (True, False):
        newton = SABFGS(0.3, fit_intercept=fit_intercept, tol=1e-12).fit(X, D)
        lbfgs = SABFGS(0.3, fit_intercept=fit_intercept, solver="lbfgs", tol=1e-15, max_iter=2000).fit(X, D)
        np.testing.assert_allclose(lbfgs.predict(X), newton.predict(X), atol=1e-5)
        assert newton.loss_ <= lbfgs.loss_ + 1e-9


def test_the_published_form_is_stopped_early():
    X, D, _ = make_problem()
    stopped = SABFGS(0.0, fit_intercept=False, solver="lbfgs", max_iter=3).fit(X, D)
    assert stopped.n_iter_ == 3
    assert stopped.loss_ > SABFGS(0.0, fit_intercept=False).fit(X, D).loss_
    assert (stopped.intercept_ == 0).all()
