import numpy as np
import pytest
from estimator_cases import make_problem
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from ldlearn import (
    DLDL,
    SABFGS,
    CountLDL,
    EnhanceThenLearn,
    FromDistributions,
    MeanLDL,
    PriorLE,
    StackedLDL,
    UniformLE,
    VoteShares,
)
from ldlearn.core import binarize
from ldlearn.exceptions import InputError
from ldlearn.metrics import get_scorer, intersection


def test_enhance_then_learn_equals_separate_steps():
    X, _, Y = make_problem()
    model = EnhanceThenLearn(enhancer=PriorLE(), learner=SABFGS(l2=0.3)).fit(X, Y)
    D = PriorLE().fit_enhance(X, Y)
    np.testing.assert_array_equal(model.label_distributions_, D)
    np.testing.assert_array_equal(model.predict(X), SABFGS(l2=0.3).fit(X, D).predict(X))
    assert get_tags(model).keeps_zeros


def make_counts():
    X, D, _ = make_problem()
    return X, np.random.default_rng(0).multinomial(3, D)


def test_two_steps_take_counts_if_the_first_does():
    X, votes = make_counts()
    both = EnhanceThenLearn(enhancer=CountLDL(gamma=1.0), learner=SABFGS(l2=1.0)).fit(X, votes)
    first = CountLDL(gamma=1.0).fit(X, votes)
    second = SABFGS(l2=1.0).fit(X, first.label_distributions_)
    np.testing.assert_array_equal(both.label_distributions_, first.label_distributions_)
    np.testing.assert_array_equal(both.predict(X), second.predict(X))
    assert get_tags(both).counts
    assert both.votes_per_row_ == 3.0
    expected = np.sum(votes * np.log(both.predict(X))) / votes.sum()
    assert both.score(X, votes) == pytest.approx(expected)
    both.set_params(enhancer=UniformLE())
    assert not get_tags(both).counts
    with pytest.raises(InputError, match=r"only 0 and 1.*CountLDL"):
        both.fit(X, votes)
    assert both.fit(X, votes > 0).score(X, votes > 0) < 0


def test_rows_of_weight_zero_count_in_no_step():
    X, votes = make_counts()
    counted = np.arange(len(X)) % 3 > 0
    model = EnhanceThenLearn(enhancer=CountLDL(gamma=1.0), learner=SABFGS(l2=1.0))
    weighted = model.fit(X, np.where(counted[:, None], votes, 7), sample_weight=counted)
    found = weighted.predict(X)
    assert weighted.votes_per_row_ == 3.0
    np.testing.assert_allclose(model.fit(X[counted], votes[counted]).predict(X), found, atol=1e-6)


def test_the_protocol_gives_0_1_labels_to_a_model_of_counts():
    X, D, _ = make_problem()
    model = FromDistributions(estimator=CountLDL(gamma=1.0), threshold=0.1)
    assert not get_tags(model).counts
    expected = CountLDL(gamma=1.0).fit(X, D > 0.1)
    np.testing.assert_array_equal(model.fit(X, D).predict(X), expected.predict(X))
    np.testing.assert_array_equal(model.enhance(X, D), expected.enhance(X, D > 0.1))


def test_a_stack_gives_0_1_labels_to_a_model_of_counts():
    X, _, Y = make_problem()
    members = [("linear", SABFGS()), ("counts", VoteShares(smoothing=1.0))]
    stack = StackedLDL(members=members, teacher=DLDL(beta=1.0, gamma=1.0)).fit(X, Y)
    folds = stack.members_["counts"]
    assert len(folds) > 1
    labels_per_row = [model.votes_per_row_ for model in folds]
    np.testing.assert_allclose(labels_per_row, Y.sum(axis=1).mean(), atol=0.5)


def test_steps_are_cloned_and_reachable_by_name():
    X, _, Y = make_problem()
    learner = SABFGS()
    model = (
        EnhanceThenLearn(enhancer=UniformLE(), learner=learner)
        .set_params(learner__l2=7.0)
        .fit(X, Y)
    )
    assert not hasattr(learner, "coef_")
    assert model.learner_.l2 == 7.0


class Spy(DLDL):
    """Stores the arguments of fit."""

    def fit(self, X, y):
        type(self).seen = np.array(y)
        return super().fit(X, y)


def test_inner_estimator_sees_only_logical_labels():
    X, D, _ = make_problem()
    model = FromDistributions(estimator=Spy(), threshold=0.1).fit(X, D)
    np.testing.assert_array_equal(Spy.seen, binarize(D, delta=0.1))
    np.testing.assert_array_equal(
        model.label_distributions_, DLDL().fit_enhance(X, binarize(D, delta=0.1))
    )
    assert model.score(X, D) == pytest.approx(intersection(D, model.predict(X)))


def test_recovery_scoring_enhances_held_out_rows():
    X, D, _ = make_problem()
    model = FromDistributions(estimator=DLDL(), threshold=0.1, scoring="recovery").fit(
        X[:30], D[:30]
    )
    Y_new = binarize(D[30:], delta=0.1)
    expected = intersection(
        D[30:], DLDL().fit(X[:30], binarize(D[:30], delta=0.1)).enhance(X[30:], Y_new)
    )
    assert model.score(X[30:], D[30:]) == pytest.approx(expected)


def test_enhance_requires_support_of_the_inner_estimator():
    assert hasattr(FromDistributions(estimator=DLDL()), "enhance")
    assert not hasattr(FromDistributions(estimator=EnhanceThenLearn()), "enhance")


def test_enhance_before_fit_raises():
    with pytest.raises(NotFittedError, match="not fitted"):
        FromDistributions().enhance([[1.0]], [[0.5, 0.5]])


@pytest.mark.parametrize(
    "model", [DLDL(beta=1.0, gamma=1.0), FromDistributions(estimator=DLDL(beta=1.0, gamma=1.0))]
)
def test_score_with_one_dimensional_targets_raises(model):
    X, D, Y = make_problem()
    model.fit(X, D if isinstance(model, FromDistributions) else Y)
    with pytest.raises(InputError, match="y must be 2-D"):
        model.score(X, D[:, 0])


def test_scikit_learn_model_selection_with_from_distributions():
    X, D, _ = make_problem(n=60)
    pipeline = make_pipeline(StandardScaler(), FromDistributions(estimator=DLDL(), threshold=0.05))
    grid = {"fromdistributions__estimator__beta": [0.1, 10.0]}
    search = GridSearchCV(pipeline, grid, scoring=get_scorer("chebyshev"), cv=3).fit(X, D)
    best = np.argmax(search.cv_results_["mean_test_score"])
    assert search.best_params_["fromdistributions__estimator__beta"] == (0.1, 10.0)[best]
    scores = cross_validate(FromDistributions(estimator=DLDL()), X, D, cv=3)["test_score"]
    assert scores.shape == (3,)
    assert scores.mean() > cross_validate(MeanLDL(), X, D, cv=3)["test_score"].mean()
