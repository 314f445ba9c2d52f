"""`score` cannot mislead: degrees are judged by the intersection, 0/1 labels by their likelihood."""

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
def test_labels_are_scored_by_their_log_likelihood_and_degrees_by_the_intersection(model):
    X, D, Y = make_problem()
    model.fit(X[:30], Y[:30])
    chance = 1 - np.exp(-model.votes_per_row_ * model.predict(X[30:]))
    chance = np.clip(chance, 0.5 / 31, 1 - 0.5 / 31)
    expected = np.where(Y[30:] == 1, np.log(chance), np.log(1 - chance)).sum(axis=1).mean()
    assert model.score(X[30:], Y[30:]) == pytest.approx(expected)
    assert model.score(X[30:], D[30:]) == pytest.approx(intersection(D[30:], model.predict(X[30:])))


def test_one_hot_rows_are_labels_for_a_joint_model_and_degrees_for_a_learner():
    """Each is judged by what it was fitted to, whatever rows happen to be scored."""
    X, D, Y = make_problem()
    one_hot = np.eye(5)[D.argmax(axis=1)]
    assert DLDL(beta=1.0).fit(X, Y).score(X, one_hot) < 0
    assert 0 < SABFGS().fit(X, D).score(X, one_hot) < 1


def test_a_learner_refuses_labels():
    X, D, Y = make_problem()
    with pytest.raises(InputError, match="sum to 1"):
        SABFGS().fit(X, D).score(X, Y)


def test_metrics_and_scorers_refuse_labels_as_truth():
    X, D, Y = make_problem()
    model = DLDL(beta=1.0).fit(X, Y)
    with pytest.raises(InputError, match=r"row \d+ sums to [2-5]"):
        intersection(Y, D)
    with pytest.raises(InputError, match="holds 0/1 labels"):
        get_scorer("chebyshev")(model, X, Y)
    assert get_scorer("average_precision")(model, X, Y) > 0
    one_hot = np.eye(5)[D.argmax(axis=1)]
    assert intersection(one_hot, D) > 0


def test_scores_other_than_labels_and_distributions_are_refused():
    X, D, Y = make_problem()
    with pytest.raises(InputError, match="sum to 1"):
        DLDL(beta=1.0).fit(X, Y).score(X, 2 * D)


def test_fewer_rows_than_labels_are_one_sentence():
    X, D, Y = make_problem()
    model = DLDL(beta=1.0, gamma=1.0).fit(X, Y)
    for truth in (Y, D):
        with pytest.raises(InputError, match=r"inconsistent numbers of samples: \[5, 40\]"):
            model.score(X[:5], truth)


def test_votes_per_row_are_those_of_the_data():
    data = make_label_distributions(1500, 10, 6, snr=np.inf, labels="votes", n_raters=12)
    model = VoteLDL().fit(data.X, data.Y)
    assert model.votes_per_row_ == pytest.approx(model.lambda_, rel=0.05)
    assert model.votes_per_row_ == pytest.approx(12, rel=0.25)


def search(split, **grid):
    """What a search by 0/1 labels takes, and the prediction of everything in its grid, by the truth."""
    X, Y = split.X[:800], split.Y[:800]
    given = {"beta": 2.0, "gamma": 0.03 * X.shape[1]}
    found = GridSearchCV(DLDL(**given), grid, cv=2).fit(X, Y).best_params_
    (name, values), *_ = grid.items()
    models = {value: DLDL(**given | {name: value}).fit(X, Y) for value in values}
    return found[name], {v: intersection(split.D_test, model.predict(split.X_test)) for v, model in models.items()}


def test_a_search_over_gamma_chooses_well_without_any_truth():
    split = Split("vader_tweets")
    chosen, scores = search(split, gamma=[ratio * split.X.shape[1] for ratio in (0.003, 0.03, 0.3, 1.0)])
    assert scores[chosen] > max(scores.values()) - 0.01
    assert min(scores.values()) < max(scores.values()) - 0.05


def test_a_search_over_beta_no_longer_takes_the_largest():
    """Labels stood for equal shares, and the largest beta gives just these. What is taken now is still large."""
    chosen, scores = search(Split("vader_tweets"), beta=[0.3, 1.0, 3.0, 10.0, 100.0])
    assert chosen in (3.0, 10.0)
    assert scores[100.0] + 0.01 < scores[chosen] < scores[1.0]


def test_unknown_labels_say_nothing_of_the_votes_of_a_model_that_did_not_keep_them():
    """As models of version 0.1.0 did not: their number of votes is that of the labels that are scored."""
    X, _, Y = make_problem()
    model = DLDL(beta=1.0, gamma=1.0).fit(X, Y)
    del model.votes_per_row_
    some = Y.astype(float)
    some[::2] = np.nan
    assert model.score(X, some) * 2 == pytest.approx(model.score(X[1::2], Y[1::2]))
