r"""Why DLDL without beta collapses toward one label, and why few iterations hide it.

With alpha = beta = 0 the D-step of a row is ``d \propto y p``, and ``min_d KL(d, p) = -ln sum_{j :
y_j = 1} p_j``: the objective sees only how much mass p puts on the positive labels together. Let
gamma be so large that p is the same for all rows. Then p maximises the concave ``f(p) = sum_i ln
s_i`` with ``s_i = sum_j y_ij p_j`` over the simplex, where

    df/dp_j = sum_{i : y_ij = 1} 1 / s_i <= n, with equality wherever p_j > 0

(the multiplier is n: weigh the equalities with p_j and add them up). If label k is positive in
every row in which j is, and in others too, then df/dp_j < df/dp_k <= n, so p_j = 0: a label that
never comes without another ends with no degree at all. One outer iteration multiplies p_j by
(df/dp_j) / n, so p_j / p_k falls geometrically: five iterations stop on the way. ``beta |d|^2`` has
its minimum at equal shares of the positive labels, and holds degrees apart.
"""

import numpy as np
import pytest

from ldlearn import DLDL

# Label 0 is always there; label 1 never comes without label 0; label 2 only with both.
Y = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 1, 1], [1, 0, 1]] * 6)
X = np.random.default_rng(0).normal(size=(len(Y), 2))


def recovered(max_iter, beta=0.0):
    model = DLDL(alpha=0.0, beta=beta, gamma=1e9, max_iter=max_iter, tol=1e-12)
    return model.fit_enhance(X, Y)


def recursion(max_iter):
    """The recursion above: p is the mean of the degrees, and a row's degrees are p restricted to
    its positives."""
    D = Y / Y.sum(axis=1, keepdims=True)
    for _ in range(max_iter):
        D = Y * D.mean(axis=0)
        D /= D.sum(axis=1, keepdims=True)
    return D


@pytest.mark.parametrize("max_iter", [1, 5, 40])
@pytest.mark.filterwarnings("ignore:DLDL stopped")
def test_iteration_without_beta_matches_the_recursion(max_iter):
    np.testing.assert_allclose(recovered(max_iter), recursion(max_iter), atol=1e-6)


@pytest.mark.filterwarnings("ignore:DLDL stopped")
def test_without_beta_degrees_collapse_slowly():
    few, many = recovered(5), recovered(60)
    assert few[Y[:, 1] == 1, 1].min() > 0.02
    assert many[:, 0].min() > 0.999
    # The ratio of two labels falls by the ratio of their derivatives, here at the limit p = (1, 0,
    # 0).
    rates = Y.sum(axis=0) / len(Y)
    np.testing.assert_allclose(
        recovered(21)[1, 1] / recovered(20)[1, 1], rates[1] / rates[0], rtol=0.05
    )


@pytest.mark.filterwarnings("ignore:DLDL stopped")
def test_beta_prevents_the_collapse():
    held = recovered(60, beta=1.0)
    assert held[1, 1] > 0.2
    shares = Y / Y.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(recovered(60, beta=1e4), shares, atol=1e-3)
