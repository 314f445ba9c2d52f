"""FromClassifier: classifiers, links, constant labels."""

import numpy as np
import pytest
import sklearn
from estimator_cases import make_problem
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from ldlearn import FromClassifier
from ldlearn.core import normalize_rows
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.metrics import intersection

CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "bayes": GaussianNB(),
    "boosting": HistGradientBoostingClassifier(max_iter=5),
    "forest": RandomForestClassifier(5, random_state=0),
    "neighbours": KNeighborsClassifier(3),
    "network": MLPClassifier(4, solver="lbfgs", max_iter=5000, tol=1e-2, alpha=1.0, random_state=0),
    "outputs": MultiOutputClassifier(LogisticRegression()),
    "chain": ClassifierChain(LogisticRegression()),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "chain in a pipeline": make_pipeline(StandardScaler(), ClassifierChain(LogisticRegression())),
    "search": GridSearchCV(
        MultiOutputClassifier(LogisticRegression()), {"estimator__C": [0.1, 1.0]}, cv=2
    ),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("link", ["probability", "votes"])
def test_any_classifier(name, link):
    X, _, Y = make_problem()
    Y[:, 3] = 0
    Y[:, 4] = 1
    model = FromClassifier(classifier=CLASSIFIERS[name], link=link).fit(X, Y)
    P = model.predict(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert list(model.varied_) == [0, 1, 2]
    recovered = model.label_distributions_
    assert (recovered[Y == 0] == 0).all()
    np.testing.assert_allclose(recovered, normalize_rows(P * Y))
    np.testing.assert_allclose(model.enhance(X, Y), recovered)


@pytest.mark.parametrize("name", ["outputs", "chain", "chain in a pipeline", "search"])
def test_multilabel_classifiers_with_constant_or_unknown_labels(name):
    X, _, Y = make_problem()
    one = np.column_stack([Y[:, 0], np.ones(len(Y))])
    alone = LogisticRegression().fit(X, Y[:, 0]).predict_proba(X)[:, 1]
    P = FromClassifier(classifier=CLASSIFIERS[name]).fit(X, one).predict(X)
    assert np.corrcoef(P[:, 0], alone)[0, 1] > 0.9
    some = Y.astype(float)
    some[:2, 1] = np.nan
    assert len(FromClassifier(classifier=CLASSIFIERS[name]).fit(X, some).classifier_) == Y.shape[1]


@pytest.mark.parametrize(
    "classifier",
    [
        make_pipeline(StandardScaler(with_std=False, with_mean=False), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2),
    ],
    ids=["pipeline", "search"],
)
def test_sample_weights_are_passed_to_the_last_step(classifier):
    X, _, Y = make_problem()
    weights = np.random.default_rng(0).random(len(X)) + 0.1
    weighted, theirs = (
        FromClassifier(classifier=classifier),
        FromClassifier(classifier=LogisticRegression()),
    )
    assert get_tags(weighted).sample_weight
    np.testing.assert_allclose(
        weighted.fit(X, Y, weights).predict(X), theirs.fit(X, Y, weights).predict(X), atol=1e-9
    )
    unweighted = FromClassifier(classifier=make_pipeline(StandardScaler(), KNeighborsClassifier()))
    assert not get_tags(unweighted).sample_weight
    with sklearn.config_context(enable_metadata_routing=True):
        np.testing.assert_array_equal(
            clone(weighted).fit(X, Y, weights).predict(X), weighted.predict(X)
        )


def test_unsupported_options_raise():
    X, _, Y = make_problem()
    Y[:, 2] = 0
    Y[3, 2] = 1
    Y[Y.sum(axis=1) == 0, 0] = 1
    with pytest.raises(
        InputError,
        match="CalibratedClassifierCV cannot be fitted to the label 'label_2': Requesting 2",
    ):
        FromClassifier(classifier=CalibratedClassifierCV(LogisticRegression(), cv=2)).fit(X, Y)
    with pytest.raises(
        InputError, match=r"must be an instance, LogisticRegression\(\), not the class itself"
    ):
        FromClassifier(classifier=LogisticRegression).fit(X, Y)


def test_links_match_the_documented_formulas():
    X, _, Y = make_problem(n=200)
    chances = np.column_stack([LogisticRegression().fit(X, y).predict_proba(X)[:, 1] for y in Y.T])
    plain, votes = (
        FromClassifier(classifier=LogisticRegression(), link=link).fit(X, Y)
        for link in ("probability", "votes")
    )
    clipped = np.clip(chances, 0.5 / 201, 1 - 0.5 / 201)
    np.testing.assert_allclose(plain.predict(X), normalize_rows(clipped))
    np.testing.assert_allclose(votes.predict(X), normalize_rows(-np.log1p(-clipped)))


def test_certain_predictions_give_valid_distributions():
    """An overfitted tree predicts 0 and 1: rows must stay finite and keep their mass."""
    X, _, Y = make_problem()
    rng = np.random.default_rng(0)
    other = rng.permutation(Y)
    for link in ("probability", "votes"):
        model = FromClassifier(classifier=KNeighborsClassifier(1), link=link).fit(X, Y)
        D = model.enhance(X, other)
        assert (D[other == 0] == 0).all()
        np.testing.assert_allclose(D.sum(axis=1), 1.0)


def test_votes_link_improves_recovery_of_votes():
    data = make_label_distributions(1500, 10, 6, labels="votes", n_raters=20)
    plain, votes = (
        intersection(
            data.D[1000:],
            FromClassifier(link=link).fit(data.X[:1000], data.Y[:1000]).predict(data.X[1000:]),
        )
        for link in ("probability", "votes")
    )
    assert votes > plain + 0.05


def test_default_penalty_is_selected_per_label():
    """One label depends on the features, the other is random: they need different penalties."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    Y = np.column_stack(
        [X @ rng.normal(size=20) > 0, rng.random(300) < 0.5, np.ones(300, dtype=bool)]
    )
    strong, coin = (one.C_ for one in FromClassifier().fit(X, Y).classifier_)
    assert strong > 10 * coin


def test_default_is_invariant_to_feature_units():
    X, _, Y = make_problem(n=100)
    expected = FromClassifier().fit(X, Y).predict(X)
    for unit in (1e-8, 1e3, 1e8, 1e100):  # without a warning
        np.testing.assert_allclose(
            FromClassifier().fit(unit * X, Y).predict(unit * X), expected, atol=1e-6
        )


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("n", "m"), [(60, 5), (20, 20)])
def test_constant_columns_do_not_matter(n, m, make):
    X, _, Y = make_problem(n=n, m=m, c=2)
    wider = make(np.insert(X, 2, 70.0, axis=1))
    expected = FromClassifier().fit(make(X), Y).predict(make(X))
    np.testing.assert_allclose(FromClassifier().fit(wider, Y).predict(wider), expected, atol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_wide_features_are_fitted_in_the_row_space(make):
    """Rotated to as many coordinates as rows: a ridge penalty is invariant to the rotation."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 90)), rng.random((40, 3)) < 0.5
    Y[:, 0] |= ~Y.any(axis=1)
    basis = np.linalg.qr(X.T).Q
    wide = FromClassifier().fit(make(X), Y)
    square = FromClassifier().fit(X @ basis, Y)
    new = rng.normal(size=(10, 90))
    assert wide.predict(make(new)) == pytest.approx(square.predict(new @ basis), abs=1e-6)


def test_constant_labels_need_no_classifier():
    X = np.zeros((5, 2))
    Y = np.tile([1, 1, 0], (5, 1))
    model = FromClassifier().fit(X, Y)
    np.testing.assert_allclose(model.label_distributions_, np.tile([0.5, 0.5, 0.0], (5, 1)))
    assert model.classifier_ == []


def test_sparse_features_follow_the_classifier():
    X, _, Y = make_problem()
    thin = sparse.csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
    FromClassifier(classifier=LogisticRegression()).fit(thin, Y)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        FromClassifier(classifier=GaussianNB()).fit(thin, Y)


def test_classifiers_without_probabilities_raise():
    X, _, Y = make_problem()
    with pytest.raises(ParameterError, match="classifier"):
        FromClassifier(classifier=StandardScaler()).fit(X, Y)
