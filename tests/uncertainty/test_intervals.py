"""Credible intervals and the flag for rows far from training: coverage, invariances, stored
training rows."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem

from ldlearn import (
    DLDL,
    SABFGS,
    EnhanceThenLearn,
    FromClassifier,
    FromDistributions,
    StackedLDL,
    VoteLDL,
)
from ldlearn.core import softmax
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.tables import load_model, save_model
from ldlearn.uncertainty.leverage import LeverageModel

MODELS = [
    DLDL(),
    VoteLDL(),
    DLDL(feature_map=Nystroem(n_components=20, random_state=0), fit_intercept=False),
]
# Twenty features of a kernel do not fit these rows, and intervals say so.
MISFIT = "ignore:Intervals of predictions may be too narrow"
EVERY = pytest.mark.parametrize("model", MODELS, ids=["DLDL", "VoteLDL", "rbf"])


def votes_of(n, seed, rate=8.0, m=8, c=5):
    """Features, true degrees, and votes whose number differs between rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    P = softmax(X @ (0.7 * np.random.default_rng(99).normal(size=(m, c))))
    votes = rng.poisson(rate * P)
    keep = votes.any(axis=1)
    return X[keep], P[keep], votes[keep]


def empirical_coverage(bounds, truth, where=...):
    return float(((bounds[0] <= truth) & (truth <= bounds[1]))[where].mean())


@pytest.fixture(scope="module")
def data():
    return make_label_distributions(400, 6, 5, labels="votes", n_raters=10)


@pytest.mark.parametrize("model", [DLDL(), VoteLDL()], ids=["DLDL", "VoteLDL"])
def test_coverage_on_simulated_votes(model):
    predicted, recovered = [], []
    for seed in range(3):
        X, P, votes = votes_of(700, seed)
        Y = votes > 0
        model.fit(X[:400], Y[:400])
        shares = votes[400:] / votes[400:].sum(axis=1, keepdims=True)
        judged = Y[400:] & (Y[400:].sum(axis=1, keepdims=True) > 1)
        predicted.append(empirical_coverage(model.predict_interval(X[400:]), P[400:]))
        recovered.append(
            empirical_coverage(model.enhance_interval(X[400:], Y[400:]), shares, judged)
        )
    assert 0.85 < np.mean(predicted) < 0.96
    assert 0.86 < np.mean(recovered) < 0.96


def overdispersed_votes(n, seed, R, kappa, m=8, c=5):
    """Features, the vote probabilities of each row, and the votes of R raters."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    P = softmax(X @ (0.7 * np.random.default_rng(99).normal(size=(m, c))))
    shares = rng.standard_gamma(kappa * P)
    shares /= shares.sum(axis=1, keepdims=True)
    return X, shares, rng.multinomial(R, shares)


@pytest.mark.parametrize(("R", "kappa"), [(5, 5.0), (20, 10.0)])
def test_coverage_with_overdispersed_votes_given_n_raters(R, kappa):
    """0/1 labels alone do not identify overdispersion: without n_raters, intervals are for the
    average row."""
    model, coverages = VoteLDL(gamma=1.0), []
    for seed in range(3):
        X, shares, votes = overdispersed_votes(900, seed, R, kappa)
        train, new = slice(0, 600), slice(600, None)
        Y = votes > 0
        model.fit(X[train], Y[train])
        assert kappa / 3 < model._find_concentration(R) < kappa * 3
        uncertain = Y[new] & (Y[new].sum(axis=1, keepdims=True) > 1)
        realised = votes[new] / R
        coverages.append(
            [
                empirical_coverage(model.predict_interval(X[new]), shares[new]),
                empirical_coverage(model.predict_interval(X[new], n_raters=R), shares[new]),
                empirical_coverage(model.enhance_interval(X[new], Y[new]), realised, uncertain),
                empirical_coverage(
                    model.enhance_interval(X[new], Y[new], n_raters=R), realised, uncertain
                ),
            ]
        )
    average, own, without_n_raters, with_n_raters = np.mean(coverages, axis=0)
    assert average < 0.4  # these intervals are for the average row
    assert (
        model.predict_interval(X, n_raters=R)[0] == 0
    ).mean() > 0.1  # a label may have no vote at all
    assert 0.84 < own < 0.96
    assert 0.82 < without_n_raters < 0.94
    assert 0.87 < with_n_raters < 0.97


def test_independent_raters_add_no_variance_between_rows(data):
    """As many positive labels as expected from independent raters: intervals of p(x) are hardly
    wider."""
    X, _, votes = votes_of(2000, 0)
    model = VoteLDL(gamma=1.0).fit(X, votes > 0)
    plain, own = (
        model.predict_interval(X[:200]),
        model.predict_interval(X[:200], n_raters=7),
    )  # fewer than there were
    np.testing.assert_allclose(own, plain, atol=0.02)


def test_n_raters_in_fit_equals_n_raters_in_interval():
    X, _, votes = overdispersed_votes(800, 0, 20, 5.0)
    Y, twenty = votes > 0, np.full(800, 20)
    known_in_fit = VoteLDL(gamma=1.0).fit(X, Y, n_raters=twenty)
    given_later = VoteLDL(gamma=1.0).fit(X, Y)
    np.testing.assert_allclose(
        known_in_fit.enhance_interval(X, Y),
        given_later.enhance_interval(X, Y, n_raters=20),
        atol=1e-4,
    )
    by_row = known_in_fit.enhance_interval(X, Y, n_raters=twenty)
    np.testing.assert_allclose(known_in_fit.enhance_interval(X, Y), by_row, atol=1e-9)
    with pytest.raises(InputError, match="n_raters were not given to fit"):
        given_later.enhance(X, Y, n_raters=twenty)


@pytest.mark.parametrize("n_raters", [0, np.nan, np.inf, "5", [5, 5]])
def test_invalid_numbers_of_raters_raise(data, n_raters):
    model = DLDL(beta=1.0, gamma=1.0).fit(data.X, data.Y)
    with pytest.raises(InputError, match="n_raters must be a positive number"):
        model.predict_interval(data.X, n_raters=n_raters)


def test_inconsistent_numbers_of_rows_raise(data):
    with pytest.raises(InputError, match="inconsistent numbers of samples"):
        DLDL(beta=1.0, gamma=1.0).fit(data.X, data.Y).enhance_interval(data.X, data.Y[:-1])


@pytest.mark.filterwarnings(MISFIT)
@EVERY
def test_intervals_contain_the_degrees_and_grow_with_coverage(model, data):
    model.fit(data.X, data.Y)
    P, D = model.predict(data.X), model.enhance(data.X, data.Y)
    for give, point in ((lambda q: model.predict_interval(data.X, q), P),
                        (lambda q: model.enhance_interval(data.X, data.Y, q), D)):  # fmt: skip
        narrow, wide = give(0.5), give(0.95)
        for lower, upper in (narrow, wide):
            assert lower.shape == upper.shape == P.shape
            assert (lower >= 0).all()
            assert (upper <= 1).all()
            assert (lower <= point).all()
            assert (point <= upper).all()
        assert (wide[0] <= narrow[0] + 1e-12).all()
        assert (wide[1] >= narrow[1] - 1e-12).all()
        assert (wide[1] - wide[0]).mean() > (narrow[1] - narrow[0]).mean() + 0.01
    lower, upper = model.enhance_interval(data.X, data.Y)
    assert (upper[data.Y == 0] == 0).all()
    alone = (data.Y == 1) & (data.Y.sum(axis=1, keepdims=True) == 1)
    assert alone.any()
    assert (lower[alone] == 1).all()


def test_more_rows_give_narrower_intervals():
    X, _, votes = votes_of(2000, 0)
    few, many = (VoteLDL().fit(X[:n], votes[:n] > 0) for n in (200, 2000))
    widths = [np.subtract(*model.predict_interval(X[:100])[::-1]).mean() for model in (few, many)]
    assert widths[0] > 2.0 * widths[1]


def test_n_raters_narrows_recovery_intervals(data):
    model = VoteLDL().fit(data.X, data.Y, n_raters=np.full(400, 10))
    few, many = (model.enhance_interval(data.X, data.Y, n_raters=np.full(400, r)) for r in (5, 50))
    judged = (data.Y == 1) & (data.Y.sum(axis=1, keepdims=True) > 1)
    assert (few[1] - few[0])[judged].mean() > (many[1] - many[0])[judged].mean() + 0.05
    usual = model.enhance_interval(data.X, data.Y)
    np.testing.assert_allclose(
        usual, model.enhance_interval(data.X, data.Y, n_raters=np.full(400, 10)), atol=1e-12
    )


@pytest.mark.filterwarnings(MISFIT)
@EVERY
def test_model_file_and_pickle_keep_intervals(model, data, tmp_path):
    asked_before = model.fit(data.X, data.Y).predict_interval(data.X)
    pickled = pickle.dumps(model)
    model.fit(data.X, data.Y)
    save_model(model, tmp_path / "model.ldl", intervals=True)
    for again in (load_model(tmp_path / "model.ldl"), pickle.loads(pickled)):
        for a, b in zip(asked_before, again.predict_interval(data.X), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)
        np.testing.assert_array_equal(
            again.far_from_training(data.X), model.far_from_training(data.X)
        )
        again.enhance_interval(data.X, data.Y)


@pytest.mark.filterwarnings(MISFIT)
@EVERY
def test_model_file_without_intervals_contains_no_training_rows(model, data, tmp_path):
    model.fit(data.X, data.Y).predict_interval(
        data.X[:5]
    )  # of an earlier fit; must not be stored in the file
    save_model(model.fit(data.X + 1.0, data.Y), tmp_path / "model.ldl")
    assert (data.X + 1.0)[0].tobytes() not in (tmp_path / "model.ldl").read_bytes()
    again = load_model(tmp_path / "model.ldl")
    for use in (again.predict_interval, again.far_from_training):
        with pytest.raises(InputError, match="--intervals"):
            use(data.X)
    with pytest.raises(ParameterError, match="SABFGS gives no intervals"):
        save_model(SABFGS().fit(data.X, data.D), tmp_path / "other.ldl", intervals=True)


@pytest.mark.parametrize("model", [DLDL(), VoteLDL()], ids=["DLDL", "VoteLDL"])
def test_pickles_contain_no_training_rows(model, data, tmp_path):
    """Computing the posterior takes longer than the fit, so that pickling does not do it."""
    fitted = clone(model).fit(data.X, data.Y)
    expected = fitted.score(data.X, data.Y)
    fitted = clone(model).fit(data.X, data.Y)  # its number of votes is not known yet
    joblib.dump(fitted, tmp_path / "model.joblib")
    for stored in (pickle.dumps(fitted), (tmp_path / "model.joblib").read_bytes()):
        for k in range(0, len(data.X), 20):
            assert data.X[k].tobytes() not in stored
    again = pickle.loads(pickle.dumps(fitted))
    assert again.score(data.X, data.Y) == expected
    np.testing.assert_array_equal(again.predict(data.X), fitted.predict(data.X))
    with pytest.raises(InputError, match=r"compute_posterior\(\) before it"):
        again.predict_interval(data.X)
    fitted.far_from_training(data.X)  # the model in memory still has its rows
    pickle.loads(pickle.dumps(fitted)).far_from_training(data.X)


@pytest.mark.parametrize(
    "model",
    [
        DLDL(),
        VoteLDL(),
        StackedLDL(members=[("votes", VoteLDL(gamma=1.0)), ("linear", SABFGS())]),
        EnhanceThenLearn(enhancer=DLDL(beta=1.0, gamma=1.0)),
        FromDistributions(estimator=DLDL(beta=1.0, gamma=1.0)),
        FromClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_pickles_are_small(model):
    data = make_label_distributions(3000, 64, 5, labels="votes")
    fitted = model.fit(data.X, data.D if model.kind == "learner" else data.Y)
    # Degrees of the training rows (0.12 MB, in a composition twice) and coefficients; X has 1.5 MB.
    assert len(pickle.dumps(fitted)) < 0.4e6


@pytest.mark.parametrize("container", [np.array, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("changed", ["X", "weights"])
def test_intervals_raise_if_training_rows_were_modified(container, changed, data):
    """Training rows are kept by reference, so that modified rows would give wrong intervals."""
    X, weights = container(data.X), np.ones(len(data.X))
    model = DLDL(beta=1.0, gamma=1.0).fit(X, data.Y, weights)
    if changed == "X":
        X *= 2.0
    else:
        weights[::2] = 3.0
    for other in (model, pickle.loads(pickle.dumps(model))):  # saving and prediction still work
        with pytest.raises(InputError, match="fit it again"):
            other.predict_interval(data.X)
        assert np.isfinite(other.predict(data.X)).all()


def test_models_of_many_labels_are_saved_without_intervals(monkeypatch):
    """The covariance between all labels would take more time than the fit, and too much memory."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(120, 3)), np.zeros((120, 201), dtype=bool)
    Y[np.arange(120)[:, None], rng.integers(0, 201, (120, 5))] = True
    monkeypatch.setattr("ldlearn.uncertainty.intervals.vote_posterior", None)  # not computed at all
    fitted = DLDL(beta=1.0, gamma=1.0).fit(X, Y)
    fitted.compute_posterior()
    model = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(InputError, match="at most 200 labels, and this model has 201"):
        model.predict_interval(X)
    assert not model.far_from_training(X).all()
    assert model.far_from_training(100.0 * X[:1]).all()


@pytest.mark.parametrize("coverage", [0.0, 1.0, 90])
def test_invalid_coverage_raises(data, coverage):
    model = DLDL(beta=1.0, gamma=1.0).fit(data.X, data.Y)
    with pytest.raises(ParameterError, match="coverage must be above 0 and below 1"):
        model.predict_interval(data.X, coverage)
    with pytest.raises(ParameterError, match="level must be above 0 and below 1"):
        model.far_from_training(data.X, coverage)


@EVERY
def test_false_positive_rate_and_detection_of_far_rows(model):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(600, 5)), rng.normal(size=(4000, 5))
    Y = (rng.random((600, 3)) < 0.5) | (np.arange(3) == 0)
    model.fit(X, Y)
    assert 0.003 < model.far_from_training(new).mean() < 0.03
    assert 0.07 < model.far_from_training(new, level=0.9).mean() < 0.13
    assert model.far_from_training(new + 8.0).all()
    assert model.far_from_training(-50.0 * np.eye(5)).all()


@pytest.mark.filterwarnings(
    MISFIT
)  # rows that are sorted by their features and labels look dependent
def test_alternating_and_sorted_kinds_of_rows():
    """Every third row is of a narrow kind: a sample of every third row, or of the first, would know
    no other."""
    rng = np.random.default_rng(0)
    is_narrow = np.arange(4500) % 3 == 0
    X = rng.normal(size=(4500, 4)) * np.where(is_narrow, 1.0, 6.0)[:, None]
    P = softmax(0.3 * X @ rng.normal(size=(4, 3)))
    Y = rng.random(P.shape) < -np.expm1(-3.0 * P)
    X, Y = X[Y.any(axis=1)], Y[Y.any(axis=1)]
    widths = []
    by_kind = np.argsort(np.abs(X).sum(axis=1))  # the first rows of the table are all narrow
    for order in (np.arange(len(X)), rng.permutation(len(X)), by_kind):
        model = VoteLDL(gamma=1.0).fit(X[order], Y[order])
        assert 0.003 < model.far_from_training(X).mean() < 0.03
        lower, upper = model.predict_interval(X[:200])
        widths.append((upper - lower).mean())
    assert widths == pytest.approx([widths[0]] * 3, rel=0.02)


def test_far_flag_with_nearly_as_many_features_as_rows():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(100, 90)), rng.normal(size=(500, 90))
    model = DLDL(beta=1.0, gamma=1.0).fit(X, (rng.random((100, 3)) < 0.5) | (np.arange(3) == 0))
    assert model.far_from_training(new).mean() < 0.1
    assert model.far_from_training(6.0 * new).all()


def test_intervals_with_sparse_shifted_weighted_and_unknown_rows(data):
    X = np.where(np.abs(data.X) < 0.5, 0.0, data.X)
    model = DLDL(beta=1.0, gamma=1.0)
    dense = model.fit(X, data.Y).predict_interval(X)
    sparse_result = model.fit(sparse.csr_array(X), data.Y).predict_interval(sparse.csr_array(X))
    far = model.fit(X + 1e5, data.Y).predict_interval(X + 1e5)
    np.testing.assert_allclose(dense, sparse_result, atol=1e-6)
    np.testing.assert_allclose(dense, far, atol=1e-4)
    twice = model.fit(X, data.Y, sample_weight=np.full(400, 2.0)).predict_interval(X)
    assert (twice[1] - twice[0]).mean() < 0.9 * (dense[1] - dense[0]).mean()
    some = np.where(np.random.default_rng(0).random(data.Y.shape) < 0.5, np.nan, data.Y)
    lost = model.fit(X, some).predict_interval(X)
    assert (lost[1] - lost[0]).mean() > 1.05 * (dense[1] - dense[0]).mean()
    lower, upper = model.enhance_interval(X, some)
    assert (lower <= upper).all()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("unit", [1e-30, 1e5, 1e30])
def test_intervals_are_invariant_to_feature_units(unit, fit_intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.random((60, 3)) < 0.5
    y[::3, 0] = y[1::3, 1] = y[2::3, 2] = True
    model = VoteLDL(fit_intercept=fit_intercept)
    same = model.fit(X, y).predict_interval(X)
    np.testing.assert_allclose(model.fit(unit * X, y).predict_interval(unit * X), same, atol=1e-3)


def test_intervals_of_degenerate_rows():
    X = np.random.default_rng(0).normal(size=(30, 2))
    for Y in (np.ones((30, 1)), np.ones((30, 3)), np.tile([1, 0, 1], (30, 1))):
        for features in (X, np.ones((30, 2))):
            model = DLDL(beta=1.0, gamma=1.0).fit(features, Y)
            lower, upper = model.enhance_interval(features, Y)
            assert np.isfinite(lower).all()
            assert (lower <= upper).all()
            if Y.shape[1] == 1:
                np.testing.assert_allclose(model.predict_interval(features), 1.0)
            else:  # every label is always or never positive
                with pytest.raises(InputError, match="too poorly"):
                    model.predict_interval(features)


@pytest.mark.parametrize(
    "model", [DLDL(beta=1.0, gamma=1.0), VoteLDL(gamma=1.0)], ids=["DLDL", "VoteLDL"]
)
def test_intervals_raise_if_coefficients_are_poorly_determined(model):
    """Their coverage would be 0.6 to 0.8: benchmarks/intervals.py."""
    wide = make_label_distributions(100, 200, 4, labels="votes", n_raters=10)
    saturated = make_label_distributions(100, 10, 3, labels="votes", n_raters=200)
    for data in (wide, saturated):
        model.fit(data.X, data.Y)
        for options in ({}, {"n_raters": 10}):
            with pytest.raises(InputError, match="more rows or fewer features"):
                model.predict_interval(data.X, **options)
        lower, upper = model.enhance_interval(data.X, data.Y)
        assert (lower <= upper).all()


def test_concurrent_interval_computation(data):
    model = DLDL(beta=1.0, gamma=1.0).fit(data.X, data.Y)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: model.predict_interval(data.X[:5])[0], range(8)))
    for lower in found:
        np.testing.assert_array_equal(lower, found[0])


def test_intervals_after_interrupt_and_refit(data, monkeypatch):
    model = DLDL(beta=1.0, gamma=1.0).fit(data.X, data.Y)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(DLDL, "_posterior_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.predict_interval(data.X[:5])
    first = model.predict_interval(data.X[:5])[0]
    assert not np.allclose(
        model.fit(data.X[:200], data.Y[:200]).predict_interval(data.X[:5])[0], first
    )


@pytest.mark.parametrize("level", ["0.9", None, 1.0])
def test_invalid_levels_raise(data, level):
    model = DLDL(beta=1.0, gamma=1.0).fit(data.X, data.Y)
    with pytest.raises(ParameterError, match="coverage must be above 0 and below 1"):
        model.predict_interval(data.X[:5], coverage=level)
    with pytest.raises(ParameterError, match="level must be above 0 and below 1"):
        model.far_from_training(data.X[:5], level=level)


@pytest.mark.parametrize("raters", [-1, np.nan, "five"])
def test_n_raters_are_validated_if_given_in_fit(data, raters):
    model = VoteLDL(gamma=1.0).fit(data.X, data.Y, n_raters=10)
    with pytest.raises(InputError, match="n_raters must"):
        model.predict_interval(data.X[:5], n_raters=raters)


def test_leverage_has_a_ridge_of_one_percent_of_the_mean_spread():
    """A direction without spread: rows are far there if they leave it by more than a fraction of
    the other spreads."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) * np.array([1.0, 1e-9])
    model = LeverageModel.from_features(CentredMatrix(X))
    new = np.array([[0.3, 0.2], [2.0, -0.1]])
    ridge = 0.01 * 0.5 * 500 * X[:, 0].var()
    expected = (new - X.mean(axis=0)) ** 2 @ (1.0 / (500 * X.var(axis=0) + ridge))
    np.testing.assert_allclose(model.distance(new), expected, rtol=1e-3)
