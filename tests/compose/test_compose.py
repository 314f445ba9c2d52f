import numpy as np
import pytest
from estimator_cases import make_problem
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from ldlearn import DLDL, SABFGS, EnhanceThenLearn, FromDistributions, MeanLDL, PriorLE, UniformLE
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
