"""Selection of beta and gamma from 0/1 labels alone: close to the best of a grid, and independent
of any order."""

from itertools import product

import numpy as np
import pytest
from estimator_cases import make_problem
from protocol import Split, load

from ldlearn import DLDL, UniformLE, VoteLDL
from ldlearn.core import log_softmax, normalize_rows, softmax
from ldlearn.core.targets import RowTargets
from ldlearn.core.votes import competing_votes, expected_votes
from ldlearn.datasets import make_label_distributions, make_logical_labels
from ldlearn.joint import dldl_path, hyperparameters
from ldlearn.joint.hyperparameters import _maximise_on_grid, select_hyperparameters
from ldlearn.joint.label_model import validate_vote_model, validation_splits
from ldlearn.metrics import intersection
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.folds import validation_folds
from ldlearn.solvers.row_space import reduce_to_row_space
from ldlearn.solvers.softmax_regression import softmax_regression

BETAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def regret(data, n=600, label_model="auto"):
    """Difference of DLDL from the best beta and gamma of a grid, for recovery and prediction."""
    X, Y, D = data.X[:n], data.Y[:n], data.D[:n]
    gammas = [ratio * 0.03 * X.var(axis=0).sum() for ratio in (0.3, 1.0, 3.0)]
    chosen, *grid = [
        DLDL(label_model=label_model).fit(X, Y),
        *dldl_path(X, Y, beta=BETAS, gamma=gammas, tol=1e-4),
    ]
    scores = np.array(
        [
            (
                intersection(D, model.label_distributions_),
                intersection(data.D[n:], model.predict(data.X[n:])),
            )
            for model in (chosen, *grid)
        ]
    )
    return scores[1:].max(axis=0) - scores[0]


@pytest.mark.parametrize(
    "options",
    [
        {"labels": "votes", "n_raters": 5},
        {"labels": "votes", "n_raters": 20},
        {"labels": "votes", "n_raters": 20, "concentration": 5.0},
    ],
    ids=str,
)
def test_regret_is_small(options):
    assert (regret(make_label_distributions(900, 15, 6, **options)) < 0.03).all()


def test_regret_is_small_if_presence_is_stated():
    data = make_label_distributions(900, 15, 6, labels="presence")
    assert (regret(data, label_model="presence") < 0.03).all()


def test_presence_labels_give_equal_degrees():
    data = make_label_distributions(800, 15, 6, labels="presence")
    model = DLDL(label_model="presence").fit(data.X, data.Y)
    assert model.beta_ == 100
    assert "label_model='presence'" in model.selection_summary_
    equal = UniformLE().fit_enhance(data.X, data.Y)
    assert intersection(equal, model.label_distributions_) > 0.97


def test_labels_are_taken_as_votes_unless_presence_is_stated():
    data = make_label_distributions(400, 10, 5, labels="votes", n_raters=20)
    votes, presence, auto = (
        DLDL(label_model=each).fit(data.X, data.Y) for each in ("votes", "presence", "auto")
    )
    assert presence.beta_ == 100
    assert votes.beta_ < 10
    assert (auto.beta_, auto.gamma_) == (votes.beta_, votes.gamma_)
    assert "taken as votes" in auto.selection_summary_
    with pytest.raises(ValueError, match="label_model"):
        DLDL(label_model="maybe").fit(data.X, data.Y)


def test_given_penalties_are_kept():
    X, _, Y = make_problem()
    both = DLDL(beta=0.7, gamma=0.2).fit(X, Y)
    assert (both.beta_, both.gamma_, both.selection_summary_) == (0.7, 0.2, "")
    one = DLDL(beta=0.7).fit(X, Y)
    assert one.beta_ == 0.7
    assert "gamma=" in one.selection_summary_
    assert "beta=" not in one.selection_summary_
    other = DLDL(gamma=0.2).fit(X, Y)
    assert other.gamma_ == 0.2
    assert "beta=" in other.selection_summary_
    assert "gamma=" not in other.selection_summary_


def test_selection_is_deterministic_and_invariant_to_row_order():
    data = make_label_distributions(300, 8, 5, labels="votes")
    order = np.random.default_rng(0).permutation(300)
    first, again, moved = (
        DLDL().fit(X, Y)
        for X, Y in ((data.X, data.Y), (data.X, data.Y), (data.X[order], data.Y[order]))
    )
    assert (first.beta_, first.gamma_, first.selection_summary_) == (
        again.beta_,
        again.gamma_,
        again.selection_summary_,
    )
    assert moved.beta_ == pytest.approx(first.beta_, rel=1e-4)
    assert moved.gamma_ == pytest.approx(first.gamma_)


@pytest.mark.parametrize("name", ["uk_budget_shares", "SJAFFE", "SCUT_FBP"])
@pytest.mark.parametrize("n_raters", [5, 20])
def test_selection_is_invariant_to_column_order(name, n_raters):
    X, D = load(name)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    Y = make_logical_labels(D, labels="votes", n_raters=n_raters, random_state=0) > 0
    rng = np.random.default_rng(0)
    found = [select_hyperparameters(CentredMatrix(X), RowTargets(Y), max_iter=2)]
    for _ in range(2):
        columns, labels = rng.permutation(X.shape[1]), rng.permutation(Y.shape[1])
        found.append(
            select_hyperparameters(
                CentredMatrix(X[:, columns]), RowTargets(Y[:, labels]), max_iter=2
            )
        )
    betas, gammas = np.array([(values.beta, values.gamma) for values in found]).T
    np.testing.assert_allclose(betas, betas[0], rtol=1e-3)
    np.testing.assert_allclose(gammas, gammas[0], rtol=1e-9)


@pytest.mark.parametrize("design", ["mirrored", "factorial"])
def test_gamma_of_balanced_designs_is_invariant_to_column_order(design):
    rng = np.random.default_rng(0)
    half = (
        rng.normal(size=(40, 5))
        if design == "mirrored"
        else np.array(list(product([-1.0, 1.0], repeat=5)))
    )
    X = np.vstack([half, -half])
    gammas = []
    for seed in range(3):
        P = softmax(0.4 * X @ np.random.default_rng(seed).normal(size=(5, 4)))
        Y = make_logical_labels(P, labels="votes", n_raters=3, random_state=seed) > 0
        for columns in (np.arange(5), rng.permutation(5), rng.permutation(5)):
            features = CentredMatrix(X[:, columns])
            found = select_hyperparameters(
                features, RowTargets(Y), beta=1.0, label_model="presence"
            )
            gammas.append(found.gamma)
    gammas = np.reshape(gammas, (3, 3))
    np.testing.assert_allclose(gammas, gammas[:, :1] + np.zeros(3), rtol=1e-9)


def test_row_order_of_one_hot_features():
    """All rows have the same values in different columns, which differ only in frequency."""
    rng = np.random.default_rng(0)
    kinds = rng.permutation(np.repeat(np.arange(20), np.arange(5, 25)))
    X, order = np.eye(20)[kinds], rng.permutation(20)
    for fold, moved in zip(
        validation_folds(CentredMatrix(X)),
        validation_folds(CentredMatrix(X[:, order])),
        strict=True,
    ):
        np.testing.assert_array_equal(fold.test, moved.test)


def test_few_rows_get_default_penalties():
    X, _, Y = make_problem(n=8)
    model = DLDL().fit(X, Y)
    assert model.beta_ == 1.0
    assert model.gamma_ == pytest.approx(0.03 * X.var(axis=0).sum())
    assert "too few rows" in model.selection_summary_


def test_selection_uses_at_most_2000_rows():
    """Rows beyond the sample are never read."""
    data = make_label_distributions(6000, 5, 4, labels="votes")
    read_rows = []

    class RecordingArray(np.ndarray):
        def __getitem__(self, key):
            if isinstance(key, np.ndarray):
                read_rows.append(len(key))
            return np.asarray(super().__getitem__(key))

    select_hyperparameters(CentredMatrix(data.X.view(RecordingArray)), RowTargets(data.Y > 0))
    assert (
        sum(read_rows) == 2 * 2000
    )  # every row of a half is used once for training and once for validation


def test_uninformative_labels():
    X, _, Y = make_problem()
    model = DLDL().fit(X, np.ones_like(Y))
    np.testing.assert_allclose(model.label_distributions_, 0.2, atol=0.02)


def test_uninformative_features_are_nearly_ignored():
    """With gamma limited to 32 times its default, noise would be fitted: a loss of 0.013 to
    0.017."""
    noise = {"snr": 0.0, "sharpness": 0.3, "labels": "votes", "n_raters": 5}
    lost = []
    for seed in range(3):
        data = make_label_distributions(500, 20, 5, **noise, random_state=seed)
        model = DLDL().fit(data.X[:200], data.Y[:200])
        constant = np.tile(model.label_distributions_.mean(axis=0), (300, 1))
        lost.append(
            intersection(data.D[200:], constant)
            - intersection(data.D[200:], model.predict(data.X[200:]))
        )
    assert max(lost) < 0.006


@pytest.mark.parametrize("peak", range(9))
def test_hill_climbing_finds_the_maximum_without_repeated_evaluations(peak):
    grid, seen = tuple(np.geomspace(0.03, 100.0, 9)), []

    def value(beta):
        seen.append(beta)
        return -abs(np.log(beta) - np.log(grid[peak]))

    assert _maximise_on_grid(value, grid) == grid[peak]
    assert len(seen) == len(set(seen))


def test_constant_number_of_positives_gives_equal_degrees(monkeypatch):
    """The labels identify the two largest degrees but not their values."""
    data = make_label_distributions(500, 10, 6, labels="top-k", k=2)
    with monkeypatch.context() as patch:
        patch.setattr(hyperparameters, "validate_vote_model", None)  # no model has to be fitted
        model = DLDL().fit(data.X, data.Y)
    assert model.beta_ == 100
    assert "equally many positive labels" in model.selection_summary_
    assert "equally many" not in DLDL(label_model="votes").fit(data.X, data.Y).selection_summary_
    votes = make_label_distributions(500, 10, 6, labels="votes", n_raters=5)
    assert "equally many" not in DLDL().fit(votes.X, votes.Y).selection_summary_


def test_selected_values_are_the_best_of_the_grid():
    """gamma has the least cross-entropy of held-out target degrees, beta the largest intersection
    with the target."""
    data = make_label_distributions(120, 4, 3, labels="votes", n_raters=10)
    features, Y = CentredMatrix(data.X), data.Y > 0
    found = select_hyperparameters(features, RowTargets(Y), label_model="votes")
    splits = validation_splits(features, RowTargets(Y))
    votes = validate_vote_model(splits)
    losses = {}
    for ratio in hyperparameters._GAMMA_RATIOS:
        total = 0.0
        for split, fit, theta in zip(splits, votes.fits, votes.thetas, strict=True):
            D = normalize_rows(
                expected_votes(competing_votes(fit.scores, fit.log_rate), split.labels.values)
            )
            W = softmax_regression(split.features, D, l2=ratio * default_gamma(split.features))
            D_test = normalize_rows(expected_votes(theta, split.labels_test.values))
            total -= (D_test * log_softmax(split.X_test @ W.coef + W.intercept)).sum()
        losses[ratio] = total
    ratio = min(losses, key=lambda ratio: abs(ratio - found.gamma / default_gamma(features)))
    assert found.gamma == pytest.approx(ratio * default_gamma(features))
    assert losses[ratio] < min(losses.values()) + 1e-4 * len(Y)
    target = (
        VoteLDL(gamma=votes.penalty_ratio * default_gamma(features))
        .fit(data.X, data.Y)
        .label_distributions_
    )
    near = {
        model.beta_: intersection(target, model.label_distributions_)
        for model in dldl_path(data.X, data.Y, beta=hyperparameters._BETAS, gamma=[found.gamma])
    }
    assert near[found.beta] > max(near.values()) - 0.002


def test_selection_on_tweets():
    split = Split("vader_tweets")
    X, Y = split.X[:1200], split.Y[:1200]
    model = DLDL().fit(X, Y)
    gammas = [ratio * 0.03 * X.shape[1] for ratio in (0.3, 1.0, 3.0)]
    best = max(
        intersection(split.D_test, other.predict(split.X_test))
        for other in dldl_path(X, Y, beta=BETAS[1:], gamma=gammas, tol=1e-4)
    )
    assert intersection(split.D_test, model.predict(split.X_test)) > best - 0.025


def test_selection_in_the_row_space_matches_exact_fits(monkeypatch):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(40, 120)), rng.random((40, 4)) < 0.5
    Y[np.arange(40), rng.integers(0, 4, 40)] = True
    chosen = select_hyperparameters(reduce_to_row_space(CentredMatrix(X)), RowTargets(Y))
    monkeypatch.setattr(hyperparameters, "VALIDATION_TOL", 1e-7)
    exact = select_hyperparameters(CentredMatrix(X), RowTargets(Y))
    assert (chosen.gamma, chosen.beta) == pytest.approx((exact.gamma, exact.beta), rel=0.03)
