"""CountLDL: limits, invariances, intervals, and what its parts are to each other."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from ldlearn import CountLDL
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.metrics import cross_entropy, intersection


def make_votes(n=120, n_votes=3, seed=0, n_labels=4):
    data = make_label_distributions(n, 5, n_labels, random_state=seed)
    votes = np.random.default_rng(seed).multinomial(n_votes, data.D)
    return data.X, votes, data.D


@pytest.fixture(scope="module")
def fitted():
    X, votes, _ = make_votes()
    return X, votes, CountLDL(gamma=1.0).fit(X, votes)


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


def test_rows_without_votes_take_no_part_in_the_fit():
    X, votes, _ = make_votes(60)
    voted = np.arange(60) % 3 > 0
    some = np.where(voted[:, None], votes, 0)
    model = CountLDL().fit(X, some)
    without = CountLDL().fit(X[voted], votes[voted])
    np.testing.assert_allclose(model.predict(X), without.predict(X), rtol=1e-10)
    np.testing.assert_allclose(model.label_distributions_[voted], without.label_distributions_)
    np.testing.assert_allclose(model.label_distributions_[~voted], model.predict(X[~voted]))
    assert model.votes_per_row_ == without.votes_per_row_ == 3.0


def test_recovery_is_nearer_to_the_truth_than_shares_and_prediction():
    X, votes, D = make_votes(300)
    model = CountLDL().fit(X, votes)
    found = model.label_distributions_
    shares = votes / 3.0
    for other in (shares, model.predict(X)):
        assert intersection(D, found) > intersection(D, other) + 0.005
        assert cross_entropy(D, found) < cross_entropy(D, other) - 0.005


def test_degrees_approach_the_shares_of_many_votes(fitted):
    X, votes, model = fitted
    errors = []
    for factor in (1, 10, 100, 10_000):
        found = model.enhance(X, votes * factor)
        errors.append(np.abs(found - votes / 3.0).max())
    assert np.diff(errors).max() < 0
    assert errors[-1] < 0.005


def test_a_training_row_with_many_votes_gets_their_shares():
    X, votes, _ = make_votes(60)
    votes[7] *= 10_000
    model = CountLDL(gamma=1.0).fit(X, votes)
    np.testing.assert_allclose(model.label_distributions_[7], votes[7] / 30_000, atol=0.001)


def test_constant_features_leave_the_votes():
    _, votes, _ = make_votes()
    X = np.ones((120, 2))
    model = CountLDL().fit(X, votes)
    shares = votes.sum(axis=0) / votes.sum()
    np.testing.assert_allclose(model.predict(X), np.tile(shares, (120, 1)), atol=0.05)
    assert not model.coef_.any()
    D = model.enhance(X, votes)
    _, kind = np.unique(votes, axis=0, return_inverse=True)
    for k in np.unique(kind):
        np.testing.assert_allclose(np.ptp(D[kind.ravel() == k], axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(model.label_distributions_, D, atol=0.15)


def test_features_without_meaning_are_hardly_used():
    _, votes, _ = make_votes(300)
    X = np.random.default_rng(1).normal(size=(300, 5))
    model = CountLDL().fit(X, votes)
    assert np.ptp(model.predict(X), axis=0).max() < 0.15


@pytest.mark.parametrize("gamma", [None, 1.0])
def test_weights_are_numbers_of_rows(gamma):
    X, votes, _ = make_votes(40)
    repeats = 1 + np.arange(40) % 2
    rows = np.repeat(np.arange(40), repeats)
    weighted = CountLDL(gamma=gamma).fit(X, votes, sample_weight=repeats)
    repeated = CountLDL(gamma=gamma).fit(X[rows], votes[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)
    np.testing.assert_allclose(
        weighted.label_distributions_[rows], repeated.label_distributions_, atol=1e-5
    )
    assert weighted.votes_per_row_ == pytest.approx(repeated.votes_per_row_)


def test_order_of_rows_and_labels_has_no_effect():
    X, votes, _ = make_votes(60)
    rng = np.random.default_rng(1)
    rows = rng.permutation(60)
    labels = rng.permutation(4)
    model = CountLDL().fit(X, votes)
    permuted = CountLDL().fit(X[rows], votes[rows][:, labels])
    expected = model.label_distributions_[rows][:, labels]
    np.testing.assert_allclose(permuted.label_distributions_, expected, atol=1e-6)
    np.testing.assert_allclose(permuted.predict(X), model.predict(X)[:, labels], atol=1e-6)
    np.testing.assert_allclose(
        permuted.vote_gain(X, votes[:, labels]), model.vote_gain(X, votes), rtol=1e-4
    )


def test_weighted_votes_lie_between_whole_ones(fitted):
    X, votes, model = fitted
    first = np.zeros_like(votes[:1])
    first[0, 0] = 1
    degrees = []
    for weight in (0.0, 0.3, 1.0, 1.9, 2.0):
        degrees.append(model.enhance(X[:1], votes[:1] + weight * first)[0, 0])
    assert np.diff(degrees).min() > 0
    near = model.enhance(X, votes + 1e-7)
    np.testing.assert_allclose(near, model.enhance(X, votes), atol=1e-6)


def test_fit_to_weighted_votes():
    X, votes, D = make_votes(100)
    weighted = votes * np.random.default_rng(0).uniform(0.3, 1.7, size=votes.shape)
    model = CountLDL(gamma=1.0).fit(X, weighted)
    assert intersection(D, model.label_distributions_) > intersection(D, votes / 3.0)
    assert model.votes_per_row_ == pytest.approx(weighted.sum() / 100)


def test_one_vote_per_row():
    X, votes, D = make_votes(200, n_votes=1)
    model = CountLDL().fit(X, votes)
    found = model.label_distributions_
    assert intersection(D, found) > intersection(D, votes) + 0.1
    # The label that was voted for gets more than without the vote.
    prediction = model.predict(X)
    assert (model.enhance(X, votes) >= prediction - 1e-9)[votes > 0].mean() > 0.95


def test_unequal_numbers_of_votes():
    X, _, D = make_votes(150)
    n_votes = np.random.default_rng(0).integers(0, 9, size=150)
    votes = np.random.default_rng(1).multinomial(n_votes, D)
    model = CountLDL(gamma=1.0).fit(X, votes)
    assert model.votes_per_row_ == pytest.approx(votes.sum() / (n_votes > 0).sum())
    found = model.label_distributions_
    many = n_votes > 5
    few = (n_votes > 0) & (n_votes < 3)
    assert intersection(D[many], found[many]) > intersection(D[few], found[few])


@pytest.mark.parametrize(
    "votes",
    [
        [[2, 1, 0]],
        [[0.5, 0, 0]],
        [[2, 1, 0], [0, 0, 0]],
        [[3, 0, 0], [3, 0, 0], [1, 0, 0]],
        [[1], [2]],
        [[1, 0], [0, 2], [3, 3]],
    ],
)
def test_few_rows(votes):
    X = np.arange(2.0 * len(votes)).reshape(len(votes), 2)
    model = CountLDL().fit(X, votes)
    for D in (model.label_distributions_, model.predict(X), model.enhance(X, votes)):
        np.testing.assert_allclose(D.sum(axis=1), 1.0)
        assert (D > 0).all()
    lower, upper = model.enhance_interval(X, votes)
    assert (lower <= upper).all()
    assert np.isfinite(model.vote_gain(X, votes)).all()


def test_two_labels_are_symmetric():
    X, votes, _ = make_votes(60, n_labels=2)
    model = CountLDL(gamma=1.0).fit(X, votes)
    lower, upper = model.enhance_interval(X, votes)
    np.testing.assert_allclose(lower[:, 0], 1 - upper[:, 1], atol=1e-8)
    np.testing.assert_allclose(lower[:, 1], 1 - upper[:, 0], atol=1e-8)


def test_a_label_without_votes_gets_small_degrees():
    X, votes, _ = make_votes(100)
    model = CountLDL(gamma=1.0).fit(X, np.insert(votes, 2, 0, axis=1))
    for D in (model.label_distributions_, model.predict(X)):
        assert 0 < D[:, 2].max() < 0.02
    without = CountLDL(gamma=1.0).fit(X, votes)
    found = np.delete(model.label_distributions_, 2, axis=1)
    np.testing.assert_allclose(found, without.label_distributions_, atol=0.05)


def test_rows_with_equal_features_differ_by_their_votes():
    X, _, D = make_votes(30)
    rows = np.repeat(np.arange(30), 4)
    votes = np.random.default_rng(0).multinomial(3, D[rows])
    model = CountLDL(gamma=1.0).fit(X[rows], votes)
    np.testing.assert_allclose(model.predict(X[rows]), np.repeat(model.predict(X), 4, axis=0))
    found = model.label_distributions_
    for first in range(0, 120, 4):
        same_votes = (votes[first : first + 4] == votes[first]).all(axis=1)
        same_degrees = np.isclose(found[first : first + 4], found[first]).all(axis=1)
        np.testing.assert_array_equal(same_degrees, same_votes)


def test_new_rows_are_enhanced_like_training_rows(fitted):
    """Recovery is out of fold, so that it is not the same."""
    X, votes, model = fitted
    found = model.enhance(X, votes)
    assert intersection(model.label_distributions_, found) > 0.95
    one_by_one = [model.enhance(X[i : i + 1], votes[i : i + 1])[0] for i in range(5)]
    np.testing.assert_allclose(one_by_one, found[:5], rtol=1e-12)


def test_intervals_contain_the_degrees_and_are_nested(fitted):
    X, votes, model = fitted
    X = X[:30]
    votes = votes[:30]
    for found, degrees in (
        (lambda c: model.enhance_interval(X, votes, coverage=c), model.enhance(X, votes)),
        (lambda c: model.predict_interval(X, coverage=c), model.predict(X)),
    ):
        wider = (np.zeros_like(degrees), np.ones_like(degrees))
        for coverage in (0.999, 0.9, 0.5, 0.01):
            lower, upper = found(coverage)
            assert (wider[0] <= lower).all()
            assert (lower <= degrees).all()
            assert (degrees <= upper).all()
            assert (upper <= wider[1]).all()
            wider = (lower, upper)


def test_intervals_shrink_with_votes(fitted):
    X, votes, model = fitted
    X = X[:30]
    votes = votes[:30]
    widths = []
    for factor in (0, 1, 10, 1000):
        lower, upper = model.enhance_interval(X, votes * factor)
        widths.append(np.mean(upper - lower))
    assert np.diff(widths).max() < 0
    assert widths[-1] < 0.05


def draw_classes(rng):
    """Three kinds of rows that features do not distinguish."""
    centres = np.array([[8.0, 1.0, 1.0], [1.0, 8.0, 1.0], [1.0, 1.0, 8.0]])
    return rng.normal(size=(300, 2)), centres[rng.integers(3, size=300)]


def draw_single(rng):
    """Distributions around a prediction."""
    X = rng.normal(size=(300, 2))
    return X, 10.0 * softmax(X @ rng.normal(size=(2, 3)), axis=1)


@pytest.mark.parametrize(("draw", "least", "most"), [(draw_classes, 0, 0.4), (draw_single, 0.8, 1)])
def test_weights_say_whether_rows_are_in_classes(draw, least, most):
    rng = np.random.default_rng(0)
    X, parameters = draw(rng)
    D = np.array([rng.dirichlet(a) for a in parameters])
    several = CountLDL(gamma=1.0).fit(X, rng.multinomial(6, D))
    assert least <= several.single_weight_ <= most
    one = CountLDL(gamma=1.0).fit(X, rng.multinomial(1, D))
    assert one.single_weight_ == 1.0


def test_summary_names_features_that_are_switched_off():
    _, votes, _ = make_votes(30)
    assert "switches the features off" in CountLDL().fit(np.ones((30, 1)), votes).selection_summary_
    given = CountLDL(gamma=1.0).fit(np.arange(30.0)[:, None], votes).selection_summary_
    assert "gamma 1 (given)" in given


def test_intervals_cover_simulated_degrees():
    """Votes of rows whose distributions are Dirichlet around a softmax of linear scores."""
    covered = []
    covered_before = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(500, 3))
        P = softmax(X @ rng.normal(size=(3, 4)), axis=1)
        D = np.array([rng.dirichlet(6.0 * p) for p in P])
        votes = rng.multinomial(4, D)
        model = CountLDL(gamma=1.0).fit(X[:300], votes[:300])
        lower, upper = model.enhance_interval(X[300:], votes[300:])
        covered.append((lower <= D[300:]) & (D[300:] <= upper))
        lower, upper = model.predict_interval(X[300:])
        covered_before.append((lower <= D[300:]) & (D[300:] <= upper))
    assert 0.84 < np.mean(covered) < 0.96
    assert 0.84 < np.mean(covered_before) < 0.96


def test_another_vote_helps_less_where_there_are_many(fitted):
    X, votes, model = fitted
    gains = [model.vote_gain(X, votes * factor).mean() for factor in (0, 1, 2, 5, 50)]
    assert np.diff(gains).max() < 0
    assert gains[-1] < gains[1] / 10
    # Not more than all the variance that there is.
    lower, upper = model.enhance_interval(X, votes, coverage=0.999)
    assert (model.vote_gain(X, votes) < np.sum((upper - lower) ** 2, axis=1)).all()


def test_score_is_the_mean_log_probability_of_a_vote(fitted):
    X, votes, model = fitted
    some = votes.copy()
    some[::3] *= 2
    some[5] = 0
    expected = np.sum(some * np.log(model.predict(X))) / some.sum()
    assert model.score(X, some) == pytest.approx(expected)
    weights = np.arange(120) % 3
    of_rows = np.sum(some * np.log(model.predict(X)), axis=1)
    expected = weights @ of_rows / (weights @ some.sum(axis=1))
    assert model.score(X, some, sample_weight=weights) == pytest.approx(expected)


BAD_COUNTS = {
    "must not be negative": lambda votes: votes - 1,
    "NaN .*row 0.*CountLDL needs every label counted": lambda votes: votes * np.nan,
    "infinity": lambda votes: np.where(votes > 0, np.inf, 0),
    "no votes": lambda votes: votes * 0,
    "hold numbers only": lambda votes: np.full(votes.shape, "many"),
    "must be 2-D": lambda votes: votes[:, 0],
    "inconsistent numbers of samples": lambda votes: votes[1:],
    "too large": lambda votes: np.where(votes > 0, 1e308, 0.0),
}


@pytest.mark.parametrize("message", BAD_COUNTS)
def test_wrong_counts_are_refused_in_one_sentence(message):
    X, votes, _ = make_votes(20)
    with pytest.raises(InputError, match=message) as refused:
        CountLDL(gamma=1.0).fit(X, BAD_COUNTS[message](votes))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("method", ["enhance", "enhance_interval", "vote_gain", "score"])
def test_wrong_counts_of_new_rows_are_refused(fitted, method):
    X, votes, model = fitted
    call = getattr(model, method)
    for wrong, message in (
        (votes[:, :3], "3 label columns"),
        (votes[:5], "inconsistent numbers"),
        (votes - 1, "negative"),
    ):
        with pytest.raises(InputError, match=message):
            call(X, wrong)


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.5, 90, np.nan])
def test_wrong_coverage_is_refused(fitted, coverage):
    X, votes, model = fitted
    with pytest.raises(ParameterError, match="coverage"):
        model.enhance_interval(X, votes, coverage=coverage)
    with pytest.raises(ParameterError, match="coverage"):
        model.predict_interval(X, coverage=coverage)


def test_columns_are_matched_by_name(fitted):
    X, votes, model = fitted
    names = ["joy", "anger", "fear", "none"]
    frame = pd.DataFrame(votes, columns=names)
    named = CountLDL(gamma=1.0).fit(X, frame)
    assert list(named.label_names_) == names
    mixed = frame[["none", "joy", "fear", "anger"]]
    np.testing.assert_array_equal(named.enhance(X, mixed), model.enhance(X, votes))
    np.testing.assert_array_equal(named.vote_gain(X, mixed), model.vote_gain(X, votes))
    for method in (named.enhance, named.enhance_interval, named.vote_gain, named.score):
        with pytest.raises(InputError, match="'fear' is missing"):
            method(X, frame.rename(columns={"fear": "other"}))
    named.set_output(transform="pandas")
    for found in (named.predict(X), named.enhance(X, mixed), *named.predict_interval(X)):
        assert list(found.columns) == names


def test_no_training_row_is_kept(fitted):
    X, votes, model = fitted
    state = pickle.loads(pickle.dumps(model)).__dict__
    kept = [name for name, value in state.items() if len(X) in np.shape(value)]
    assert kept == ["label_distributions_"]
    assert len(pickle.dumps(model)) < 8 * votes.size + 8_000
