"""PT-SVM: pairwise machines, folds, order of columns."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import make_problem
from sklearn.svm import SVC

from ldlearn.core.logical import draw_labels
from ldlearn.learning import PTSVM, MeanLDL
from ldlearn.learning.pt_svm import _split_draws


@pytest.mark.parametrize(("gamma", "width"), [("auto", 1 / 4), ("scale", None), (0.7, 0.7)])
def test_machines_are_those_of_the_repeated_examples(gamma, width):
    """Sample weights equal repetitions, and one kernel product gives the decision functions of all
    pairs."""
    X, D, _ = make_problem()
    model = PTSVM(C=2.0, gamma=gamma, tol=1e-8, cv=2, random_state=3).fit(X, D)
    counts = draw_labels(D, D.size, np.random.RandomState(3))
    decisions = model._decisions(X, model.support_vectors_, model.dual_coef_, model.intercept_)
    for p, (i, j) in enumerate(model.pairs_):
        examples = np.vstack(
            [np.repeat(X, counts[:, i], axis=0), np.repeat(X, counts[:, j], axis=0)]
        )
        classes = np.repeat([1, 0], counts[:, [i, j]].sum(axis=0))
        machine = SVC(C=2.0, gamma=width or 1 / X.var(axis=0).sum(), shrinking=False, tol=1e-8).fit(
            examples, classes
        )
        np.testing.assert_allclose(decisions[:, p], machine.decision_function(X), atol=1e-5)


def test_folds_contain_every_draw_once():
    rng = np.random.RandomState(0)
    counts = rng.poisson(1.5, size=(30, 2))
    folds = _split_draws(counts, 4, rng)
    np.testing.assert_array_equal(folds.sum(axis=0), counts)
    sizes = folds.sum(axis=(1, 2))
    assert sizes.max() - sizes.min() <= 1


def test_columns_follow_the_labels_not_the_order_of_the_draws():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Z = 4 * np.column_stack([-X[:, 0], X[:, 1], X[:, 0]])  # the first rows may draw any label first
    D = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    P = PTSVM(cv=3, random_state=0).fit(X, D).predict(X)
    for j in range(3):
        assert np.corrcoef(P[:, j], D[:, j])[0, 1] > 0.8
    assert np.minimum(P, D).sum(axis=1).mean() > MeanLDL().fit(X, D).score(X, D) + 0.15


def test_labels_never_drawn_get_the_smallest_degree():
    X, D, _ = make_problem()
    D = np.insert(D, [1, 4], 0.0, axis=1)
    model = PTSVM(cv=2, random_state=0).fit(X, D)
    P = model.predict(X)
    assert list(model.drawn_labels_) == [0, 2, 3, 4, 6]
    np.testing.assert_allclose(P[:, [1, 5]], 1e-9, rtol=1e-6)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)


def test_single_drawn_label_gets_degree_one():
    X = np.random.default_rng(0).normal(size=(10, 2))
    D = np.tile([0.0, 1.0, 0.0], (10, 1))
    np.testing.assert_allclose(PTSVM(random_state=0).fit(X, D).predict(X), D, atol=1e-8)


def test_few_draws_leave_folds_without_a_class():
    X, D, _ = make_problem()
    for n_draws in (1, 2, 4, 9):
        P = PTSVM(n_draws=n_draws, random_state=1).fit(X, D).predict(X)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)


def test_number_of_draws_and_threads():
    X, D, _ = make_problem()
    few, default = (PTSVM(cv=2, n_draws=k, random_state=0).fit(X, D) for k in (30, None))
    assert len(few.support_vectors_) < len(default.support_vectors_)
    threads = PTSVM(cv=2, n_jobs=2, random_state=0).fit(X, D)
    np.testing.assert_array_equal(threads.predict(X), default.predict(X))


def test_blocks_of_rows_give_the_same_result(monkeypatch):
    X, D, _ = make_problem()
    model = PTSVM(cv=2, random_state=0).fit(X, D)
    whole = model.predict(X)
    monkeypatch.setattr("ldlearn.core.scaling._BATCH_ENTRIES", 40 * 3)
    np.testing.assert_allclose(model.predict(X), whole, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernel_too_large_for_the_cache_is_evaluated_machine_by_machine(dtype):
    X, D, _ = make_problem()
    X = X.astype(dtype)
    exact = {"cv": 2, "tol": 1e-8, "random_state": 0}
    whole, parts = (PTSVM(cache_size=size, **exact).fit(X, D) for size in (200, 0.01))
    assert whole._kernel_matrix(X) is not None
    assert parts._kernel_matrix(X) is None
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-6)
