"""Messages where the assumptions of intervals fail, and intervals of rows in groups."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from ldlearn import DLDL, VoteLDL
from ldlearn.core import softmax
from ldlearn.tables import load_model, save_model

N, M, C = 400, 5, 4
W = 2.0 * np.random.default_rng(1).normal(size=(M, C)) / np.sqrt(M)


def votes(seed=0, n=N, nonlinear=False, n_raters=10):
    """Features, labels and mean degrees of votes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, M))
    P = softmax((X**2 - 1.0) @ W if nonlinear else X @ W)
    return X, rng.multinomial(n_raters, P) > 0, P


def grouped_votes(seed, n_groups=50, size=20):
    """Rows of a group have the same features, and their raters the same opinions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_groups, M))
    parts = rng.standard_gamma(5.0 * softmax(X @ W))
    groups = np.repeat(np.arange(n_groups), size)
    Q = (parts / parts.sum(axis=1, keepdims=True))[groups]
    return X[groups], rng.multinomial(10, Q) > 0, groups


def messages(model, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict_interval(X)
    return " ".join(str(each.message) for each in caught)


@pytest.mark.parametrize(
    "model", [DLDL(beta=1.0, gamma=1.0), VoteLDL(gamma=1.0)], ids=["DLDL", "VoteLDL"]
)
def test_nonlinear_truth_is_reported_by_models_and_their_files(model, tmp_path):
    X, Y, _ = votes(nonlinear=True)
    model.fit(X, Y)
    save_model(model, tmp_path / "model.ldl", intervals=True)
    for each in (model, load_model(tmp_path / "model.ldl")):
        with pytest.warns(UserWarning, match="too narrow.*another way than the linear model"):
            each.predict_interval(X)
        each.predict_interval(X, n_raters=10)  # intervals of rows are wide enough: no message
        each.enhance_interval(X, Y)


@pytest.mark.parametrize(
    "change", [lambda X: 1e5 + X * 10.0 ** np.arange(M), sparse.csr_array], ids=["units", "sparse"]
)
def test_units_and_containers_do_not_matter_for_the_test_of_linearity(change):
    X, Y, _ = votes(nonlinear=True)
    z = [
        VoteLDL(gamma=1.0).fit(each, Y).compute_posterior().posterior.misfit.nonlinear
        for each in (X, change(X))
    ]
    assert z[0] > 6.0
    assert z[1] == pytest.approx(z[0], rel=0.05)


def test_varying_numbers_of_raters_are_reported_unless_given():
    raters = np.random.default_rng(2).choice([2, 20], N)
    X, Y, _ = votes(n_raters=raters)
    assert "number of positive labels" in messages(VoteLDL(gamma=1.0).fit(X, Y), X)
    assert not messages(VoteLDL(gamma=1.0).fit(X, Y, n_raters=raters), X)


@pytest.mark.parametrize("shuffled", [False, True])
def test_dependent_rows_are_reported_unless_groups_are_given(shuffled):
    X, Y, groups = grouped_votes(0)
    order = np.random.default_rng(0).permutation(len(X)) if shuffled else np.arange(len(X))
    X, Y, groups = X[order], Y[order], groups[order]
    assert "groups" in messages(VoteLDL(gamma=1.0).fit(X, Y), X)
    assert not messages(VoteLDL(gamma=1.0).fit(X, Y, groups=groups), X)


def test_rows_that_follow_each_other_are_reported():
    """Their features differ: only the order of the table shows that they belong together."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, M))
    Y = (
        rng.multinomial(10, softmax(X @ W + np.repeat(rng.normal(size=(N // 20, C)), 20, axis=0)))
        > 0
    )
    misfit = VoteLDL(gamma=1.0).fit(X, Y).compute_posterior().posterior.misfit
    assert misfit.dependent_rows > 4.0


def test_votes_of_a_linear_model_cause_no_message():
    """The rate of false alarms is in benchmarks/intervals.py."""
    z = []
    for seed in range(8):
        X, Y, _ = votes(seed, n=200)
        misfit = VoteLDL(gamma=1.0).fit(X, Y).compute_posterior().posterior.misfit
        z.append([misfit.nonlinear, misfit.varying_raters, misfit.dependent_rows])
    assert (np.mean(z, axis=0) < 0.8).all()
    assert (np.array(z) > 2.33).sum() <= 1


def test_coverage_of_grouped_rows():
    """Groups of 20 rows; half of the coverage is lost if they are taken for independent rows."""
    coverage, nonlinear = [], []
    for seed in range(3):
        X, Y, groups = grouped_votes(seed)
        new = np.random.default_rng(100 + seed).normal(size=(300, M))
        P, found = softmax(new @ W), []
        for given in (None, groups):
            posterior = VoteLDL(gamma=1.0).fit(X, Y, groups=given).compute_posterior().posterior
            lower, upper = posterior.degree_intervals(new, 0.9)
            found.append(((lower <= P) & (upper >= P)).mean())
        nonlinear.append(posterior.misfit.nonlinear)
        coverage.append(found)
    alone, together = np.mean(coverage, axis=0)
    assert alone < 0.65
    assert 0.82 < together < 0.97
    assert np.abs(nonlinear).max() < 3.0  # a group is one piece of evidence


@pytest.mark.parametrize("m", [M, 120], ids=["full", "kronecker"])
def test_groups_of_one_row_have_no_design_effect(m):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, m))
    Y = rng.multinomial(8, softmax(X[:, :M] @ W)) > 0
    alone, ones, tens = (
        VoteLDL(gamma=1.0).fit(X, Y, groups=groups).compute_posterior().posterior.score_variance
        for groups in (None, np.arange(1000), np.arange(1000) // 10)
    )
    assert ones == pytest.approx(alone, rel=1e-6)
    assert alone <= tens < 1.3 * alone  # independent rows within groups


def test_design_effect_of_repeated_rows_is_their_number():
    """A group of three copies is one row, in every covariance and with sample weights as with
    copies."""
    rng = np.random.default_rng(0)
    for m in (M, 120):
        X = rng.normal(size=(600, m))
        Y = rng.multinomial(8, softmax(X[:, :M] @ W)) > 0
        groups = np.arange(600)
        once = VoteLDL(gamma=1.0).fit(X, Y)
        copied = VoteLDL(gamma=1.0).fit(
            np.repeat(X, 3, axis=0), np.repeat(Y, 3, axis=0), groups=np.repeat(groups, 3)
        )
        weighted = VoteLDL(gamma=1.0).fit(X, Y, np.full(600, 3.0), groups=groups)
        once, copied, weighted = (
            each.compute_posterior().posterior for each in (once, copied, weighted)
        )
        assert copied.score_variance == pytest.approx(once.score_variance, rel=0.05)
        assert weighted.score_variance == pytest.approx(once.score_variance, rel=0.05)
