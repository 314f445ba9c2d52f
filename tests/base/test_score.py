"""`score` has one metric: joint models the likelihood of 0/1 labels, learners the intersection with
degrees."""

import numpy as np
import pytest
from estimator_cases import make_problem
from protocol import Split
from sklearn.model_selection import GridSearchCV

from ldlearn import DLDL, SABFGS, EnhanceThenLearn, FromClassifier, VoteLDL
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import InputError
from ldlearn.metrics import get_scorer, intersection

JOINT = [DLDL(), VoteLDL(), FromClassifier(), EnhanceThenLearn()]


@pytest.mark.parametrize("model", JOINT, ids=lambda model: type(model).__name__)
def test_joint_models_score_labels_by_log_likelihood_and_reject_degrees(model):
    X, D, Y = make_problem()
    model.fit(X[:30], Y[:30])
    chance = 1 - np.exp(-model.votes_per_row_ * model.predict(X[30:]))
    chance = np.clip(chance, 0.5 / 31, 1 - 0.5 / 31)
    expected = np.where(Y[30:] == 1, np.log(chance), np.log(1 - chance)).sum(axis=1).mean()
    assert model.score(X[30:], Y[30:]) == pytest.approx(expected)
    one_hot = np.eye(5)[D[30:].argmax(axis=1)]
    assert model.score(X[30:], one_hot) < 0
    for degrees in (D[30:], 0.999 * one_hot + 0.0002, 2 * D[30:]):
        with pytest.raises(InputError, match=r"0/1 labels.*ldlearn\.metrics\.intersection"):
            model.score(X[30:], degrees)


def test_learner_rejects_labels():
    X, D, Y = make_problem()
    with pytest.raises(InputError, match="sum to 1"):
        SABFGS().fit(X, D).score(X, Y)


def test_metrics_and_scorers_reject_labels_as_truth():
    X, D, Y = make_problem()
    model = DLDL(beta=1.0).fit(X, Y)
    with pytest.raises(InputError, match=r"row \d+ sums to [2-5]"):
        intersection(Y, D)
    with pytest.raises(InputError, match="0/1 labels"):
        get_scorer("chebyshev")(model, X, Y)
    assert get_scorer("average_precision")(model, X, Y) > 0
    one_hot = np.eye(5)[D.argmax(axis=1)]
    assert intersection(one_hot, D) > 0


def test_fewer_rows_than_labels_raise():
    X, _, Y = make_problem()
    model = DLDL(beta=1.0, gamma=1.0).fit(X, Y)
    with pytest.raises(InputError, match=r"inconsistent numbers of samples: \[5, 40\]"):
        model.score(X[:5], Y)


def test_number_of_votes_per_row_is_estimated_from_the_data():
    data = make_label_distributions(1500, 10, 6, snr=np.inf, labels="votes", n_raters=12)
    model = VoteLDL().fit(data.X, data.Y)
    assert model.votes_per_row_ == pytest.approx(model.lambda_, rel=0.05)
    assert model.votes_per_row_ == pytest.approx(12, rel=0.25)


def test_number_of_votes_is_that_of_all_kinds_of_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    X[::2] *= 0.2
    n_raters = np.where(np.arange(4000) % 2 == 0, 1, 12)  # every second row is of another kind
    Y = rng.multinomial(n_raters, np.full(4, 0.25)) > 0
    order = rng.permutation(4000)
    alternating = VoteLDL(gamma=1.0).fit(X, Y).votes_per_row_
    shuffled = VoteLDL(gamma=1.0).fit(X[order], Y[order]).votes_per_row_
    assert alternating == pytest.approx(shuffled, rel=0.1)


def search(split, **grid):
    """The value selected by 0/1 labels, and the true prediction score of each value of the grid."""
    X, Y = split.X[:800], split.Y[:800]
    given = {"beta": 2.0, "gamma": 0.03 * X.shape[1]}
    found = GridSearchCV(DLDL(**given), grid, cv=2).fit(X, Y).best_params_
    (name, values), *_ = grid.items()
    models = {value: DLDL(**given | {name: value}).fit(X, Y) for value in values}
    return found[name], {
        v: intersection(split.D_test, model.predict(split.X_test)) for v, model in models.items()
    }


def test_search_over_gamma_without_truth_is_nearly_optimal():
    split = Split("vader_tweets")
    chosen, scores = search(
        split, gamma=[ratio * split.X.shape[1] for ratio in (0.003, 0.03, 0.3, 1.0)]
    )
    assert scores[chosen] > max(scores.values()) - 0.01
    assert min(scores.values()) < max(scores.values()) - 0.05


def test_search_over_beta_does_not_select_the_largest():
    """Scores against equal degrees would favour the largest beta; the selected beta is still
    large."""
    chosen, scores = search(Split("vader_tweets"), beta=[0.3, 1.0, 3.0, 10.0, 100.0])
    assert chosen in (3.0, 10.0)
    assert scores[100.0] + 0.01 < scores[chosen] < scores[1.0]
