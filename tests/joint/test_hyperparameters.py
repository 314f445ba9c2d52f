"""DLDL's own choice of weights: without any truth, near the best; the user can overrule it."""

import numpy as np
import pytest
from estimator_cases import make_problem
from hypothesis import given
from hypothesis import strategies as st
from protocol import Split

from ldlearn import DLDL, UniformLE
from ldlearn.core import normalize_rows, softmax
from ldlearn.datasets import make_label_distributions, make_logical_labels
from ldlearn.joint import dldl_path, hyperparameters
from ldlearn.joint.hyperparameters import _climb, _Hill, _least_regret, select_hyperparameters
from ldlearn.joint.label_model import Competition
from ldlearn.metrics import intersection
from ldlearn.solvers.features import Features
from ldlearn.solvers.row_space import reduce_to_row_space

BETAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def regret(data, n=600):
    """What DLDL() loses against the best beta and gamma of a grid, at recovery and prediction."""
    X, Y, D = data.X[:n], data.Y[:n], data.D[:n]
    gammas = [ratio * 0.03 * X.var(axis=0).sum() for ratio in (0.3, 1.0, 3.0)]
    chosen, *grid = [DLDL().fit(X, Y), *dldl_path(X, Y, beta=BETAS, gamma=gammas, tol=1e-4)]
    scores = np.array(
        [
            (intersection(D, model.label_distributions_), intersection(data.D[n:], model.predict(data.X[n:])))
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
        {"labels": "presence"},
    ],
    ids=str,
)
def test_little_is_lost_against_the_best_weights(options):
    assert (regret(make_label_distributions(900, 15, 6, **options)) < 0.03).all()


def test_presence_means_equal_shares():
    data = make_label_distributions(800, 15, 6, labels="presence")
    model = DLDL().fit(data.X, data.Y)
    assert model.beta_ == 100
    assert "stand alone" in model.choice_
    equal = UniformLE().fit_enhance(data.X, data.Y)
    assert intersection(equal, model.label_distributions_) > 0.97


def test_the_user_can_say_what_a_1_means():
    data = make_label_distributions(400, 10, 5, labels="votes", n_raters=20)
    votes, presence = (DLDL(label_model=meaning).fit(data.X, data.Y) for meaning in ("votes", "presence"))
    assert presence.beta_ == 100
    assert votes.beta_ < 10
    assert "label_model='presence'" in presence.choice_
    with pytest.raises(ValueError, match="label_model"):
        DLDL(label_model="maybe").fit(data.X, data.Y)


def test_weights_that_are_given_stay():
    X, _, Y = make_problem()
    both = DLDL(beta=0.7, gamma=0.2).fit(X, Y)
    assert (both.beta_, both.gamma_, both.choice_) == (0.7, 0.2, "")
    one = DLDL(beta=0.7).fit(X, Y)
    assert one.beta_ == 0.7
    assert "gamma=" in one.choice_
    assert "beta=" not in one.choice_
    other = DLDL(gamma=0.2).fit(X, Y)
    assert other.gamma_ == 0.2
    assert "beta=" in other.choice_
    assert "gamma=" not in other.choice_


def test_the_choice_is_the_same_every_time_and_in_any_order():
    data = make_label_distributions(300, 8, 5, labels="votes")
    order = np.random.default_rng(0).permutation(300)
    first, again, moved = (
        DLDL().fit(X, Y) for X, Y in ((data.X, data.Y), (data.X, data.Y), (data.X[order], data.Y[order]))
    )
    assert (first.beta_, first.gamma_, first.choice_) == (again.beta_, again.gamma_, again.choice_)
    assert moved.beta_ == pytest.approx(first.beta_, rel=1e-4)
    assert moved.gamma_ == pytest.approx(first.gamma_)


def test_a_handful_of_rows_gets_defaults():
    X, _, Y = make_problem(n=8)
    model = DLDL().fit(X, Y)
    assert model.beta_ == 1.0
    assert model.gamma_ == pytest.approx(0.03 * X.var(axis=0).sum())
    assert "too few rows" in model.choice_


def test_no_more_than_2000_rows_are_looked_at():
    """The same choice with forty thousand rows more that are never looked at would be luck; that it is quick is not."""
    data = make_label_distributions(6000, 5, 4, labels="votes")
    looked_at = []

    class Watched(np.ndarray):
        def __getitem__(self, key):
            if isinstance(key, np.ndarray):
                looked_at.append(len(key))
            return np.asarray(super().__getitem__(key))

    select_hyperparameters(Features(data.X.view(Watched)), data.Y > 0)
    assert sum(looked_at) == 2 * 2000  # every row of a half once to learn from and once to judge by


def test_labels_that_say_nothing_do_no_harm():
    X, _, Y = make_problem()
    model = DLDL().fit(X, np.ones_like(Y))
    np.testing.assert_allclose(model.label_distributions_, 0.2, atol=0.02)


def test_features_that_say_nothing_are_all_but_ignored():
    """Else noise is predicted: with gamma at most 32 times its default 0.013 to 0.017 are lost against a constant."""
    noise = {"snr": 0.0, "sharpness": 0.3, "labels": "votes", "n_raters": 5}
    lost = []
    for seed in range(3):
        data = make_label_distributions(500, 20, 5, **noise, random_state=seed)
        model = DLDL().fit(data.X[:200], data.Y[:200])
        constant = np.tile(model.label_distributions_.mean(axis=0), (300, 1))
        lost.append(intersection(data.D[200:], constant) - intersection(data.D[200:], model.predict(data.X[200:])))
    assert max(lost) < 0.006


@pytest.mark.parametrize("peak", [0, 1.3, 2.4, 3, 4.8, 6])
@pytest.mark.parametrize("start", [0, 3, 6])
def test_climbing_finds_the_top_of_one_hill(peak, start):
    """Of a parabola exactly, and no further than the ends."""
    asked = []

    def hill(k):
        asked.append(k)
        return -((k - peak) ** 2)

    found = _climb(hill, start, 7)
    assert found.top == pytest.approx(min(max(peak, 0), 6))
    assert found.height == pytest.approx(-((found.top - peak) ** 2))
    assert len(asked) == len(set(asked))


def parabola(top, bend):
    return _Hill(lambda k: -bend * (k - top) ** 2, top, 0.0)


@given(st.tuples(*[st.floats(0, 8)] * 2), st.tuples(*[st.floats(0.1, 10)] * 2), st.floats(0.01, 1))
def test_no_place_has_less_to_lose(tops, bends, weight):
    """Nowhere on the scale is the larger of the two losses smaller; so the answer lies between the tops."""
    hills = [parabola(top, bend) for top, bend in zip(tops, bends, strict=True)]
    found = _least_regret(hills, [1.0, weight])
    assert min(tops) <= found <= max(tops)
    places = np.append(np.linspace(0, 8, 400), found)
    worst = np.maximum(-hills[0].at(places), -weight * hills[1].at(places))
    between = max(tops) - min(tops)
    steepest = max(bends) * (2.0 * between + 1.0)
    assert worst[-1] <= worst.min() + steepest * between / 400 + 1e-9  # half of a step between 201 places


def test_an_opinion_of_little_weight_changes_little():
    hills = [parabola(2.3, 1.0), parabola(6.0, 1.0)]
    found = [_least_regret(hills, [1.0, weight]) for weight in (1e-9, 1e-3, 0.1, 1.0)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(2.3, abs=0.02)
    assert found[-1] == pytest.approx(4.15, abs=0.05)
    assert _least_regret(hills[:1], [1.0]) == 2.3


def budgets(seed):
    """Shares that differ much between labels and little between rows, and which of them exceed a tenth."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((500, 4))
    means = softmax(0.1 * X @ rng.standard_normal((4, 6)) + np.log([0.36, 0.25, 0.13, 0.1, 0.09, 0.07]))
    D = normalize_rows(rng.standard_gamma(15.0 * means) + 1e-9)
    return X, D, make_logical_labels(D, "threshold", threshold=0.1)


def test_a_label_that_always_exceeds_a_threshold_is_not_taken_to_have_all_the_votes():
    lost = []
    for seed in range(4):
        X, D, Y = budgets(seed)
        equal = UniformLE().fit_enhance(X, Y)
        lost.append(intersection(D, equal) - intersection(D, DLDL().fit(X, Y).label_distributions_))
    assert np.mean(lost) < 0.02  # 0.033 if beta followed the vote model alone


def test_words_say_what_else_was_reckoned_with():
    X, _, Y = budgets(0)
    assert "the chances of a tick (of weight 0." in DLDL().fit(X, Y).choice_
    assert "chances" not in DLDL(label_model="votes").fit(X, Y).choice_
    votes = make_label_distributions(600, 10, 6, labels="votes", n_raters=20)
    assert "chances" not in DLDL().fit(votes.X, votes.Y).choice_


def test_rationed_ticks_mean_equal_shares():
    """Where everybody ticks two labels, these are known to be the largest; how large they are is not."""
    data = make_label_distributions(500, 10, 6, labels="top-k", k=2)
    model = DLDL().fit(data.X, data.Y)
    assert model.beta_ == 100
    assert "rationed" in model.choice_
    votes = make_label_distributions(500, 10, 6, labels="votes", n_raters=5)
    assert "rationed" not in DLDL().fit(votes.X, votes.Y).choice_


def test_doubt_flattens_the_degrees_that_beta_follows(monkeypatch):
    """The same labels with less trust in votes: never a smaller beta."""
    data = make_label_distributions(400, 10, 5, labels="votes", n_raters=20)
    features, Y, betas = Features(data.X), data.Y > 0, []
    for trust in (1.0, 0.7, 0.4, 0.1, 0.0):
        monkeypatch.setattr(Competition, "trust", trust)
        betas.append(select_hyperparameters(features, Y, gamma=1.0).beta)
    assert betas == sorted(betas)
    assert betas[-1] == 100
    assert betas[2] > 2 * betas[0]


def test_tweets_need_no_truth():
    split = Split("vader_tweets")
    X, Y = split.X[:1200], split.Y[:1200]
    model = DLDL().fit(X, Y)
    gammas = [ratio * 0.03 * X.shape[1] for ratio in (0.3, 1.0, 3.0)]
    best = max(
        intersection(split.D_test, other.predict(split.X_test))
        for other in dldl_path(X, Y, beta=BETAS[1:], gamma=gammas, tol=1e-4)
    )
    assert intersection(split.D_test, model.predict(split.X_test)) > best - 0.025


def test_in_the_span_of_wide_rows_the_choice_is_that_of_exact_fits(monkeypatch):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(40, 120)), rng.random((40, 4)) < 0.5
    Y[np.arange(40), rng.integers(0, 4, 40)] = True
    chosen = select_hyperparameters(reduce_to_row_space(Features(X)), Y)
    monkeypatch.setattr(hyperparameters, "_ROUGH", 1e-7)
    exact = select_hyperparameters(Features(X), Y)
    assert (chosen.gamma, chosen.beta) == pytest.approx((exact.gamma, exact.beta), rel=0.03)
