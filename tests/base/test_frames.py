"""`set_output` for predict, enhance, fit_enhance and intervals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from ldlearn import (
    DLDL,
    SABFGS,
    ConformalIntervals,
    EnhanceThenLearn,
    FromDistributions,
    UniformLE,
    VoteLDL,
)
from ldlearn.exceptions import ParameterError
from ldlearn.tables import ColumnOptions, TableModel, load_model, save_model

LABELS = ["sky", "mountain", "sea"]
FIXED = {"alpha": 0.0, "beta": 1.0, "gamma": 1.0, "max_iter": 2}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(24, 2)), columns=["a", "b"], index=[f"row{i}" for i in range(24)]
    )
    Y = pd.DataFrame((rng.random((24, 3)) < 0.5).astype(int), columns=LABELS, index=X.index)
    Y.loc[Y.sum(axis=1) == 0, "sky"] = 1
    return X, Y


def results(model, X, Y):
    """Results of all methods of a model."""
    methods = (
        {"fit_enhance": lambda: model.fit_enhance(X, Y)} if hasattr(model, "fit_enhance") else {}
    )
    methods["predict"] = lambda: model.predict(X)
    if hasattr(model, "enhance"):
        methods["enhance"] = lambda: model.enhance(X, Y)
    if hasattr(model, "predict_interval"):
        for k, end in enumerate(("lower", "upper")):
            methods[f"predict_interval, {end}"] = lambda k=k: model.predict_interval(X)[k]
            methods[f"enhance_interval, {end}"] = lambda k=k: model.enhance_interval(X, Y)[k]
    return {name: method() for name, method in methods.items()}


@pytest.mark.parametrize(
    "model", [DLDL(**FIXED), VoteLDL(gamma=1.0), EnhanceThenLearn()], ids=lambda m: type(m).__name__
)
def test_set_output_applies_to_every_method(data, model):
    X, Y = data
    arrays = results(clone(model), X, Y)
    assert all(type(found) is np.ndarray for found in arrays.values())
    frames = results(clone(model).set_output(transform="pandas"), X, Y)
    for method, found in frames.items():
        assert isinstance(found, pd.DataFrame), method
        assert list(found.columns) == LABELS
        assert list(found.index) == list(X.index)
        np.testing.assert_array_equal(found.to_numpy(), arrays[method])
    tables = results(
        clone(model).set_output(transform="polars"), pl.from_pandas(X), pl.from_pandas(Y)
    )
    for method, found in tables.items():
        assert isinstance(found, pl.DataFrame), method
        assert found.columns == LABELS
        np.testing.assert_allclose(found.to_numpy(), arrays[method])


def test_global_setting_of_scikit_learn_is_the_default(data):
    X, Y = data
    model = EnhanceThenLearn().fit(X, Y)
    with sklearn.config_context(transform_output="pandas"):
        assert list(model.predict(X).columns) == LABELS
        assert list(UniformLE().fit_enhance(X, Y).columns) == LABELS
        assert type(EnhanceThenLearn().fit(X, Y).label_distributions_) is np.ndarray
        assert model.score(X, Y) < 0
        assert type(clone(model).set_output(transform="default").fit(X, Y).predict(X)) is np.ndarray
    assert type(model.predict(X)) is np.ndarray


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_clone_keeps_the_setting_and_none_does_not_change_it(data):
    X, Y = data
    model = clone(DLDL(**FIXED).set_output(transform="pandas").set_output(transform=None)).fit(X, Y)
    assert isinstance(model.predict(X), pd.DataFrame)
    assert list(model.predict(X.to_numpy()).index) == list(range(24))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_wrappers_and_scores_support_models_with_frame_output(data):
    X, Y = data
    D = (Y + 0.2).div((Y + 0.2).sum(axis=1), axis=0)
    inner = DLDL(**FIXED).set_output(transform="pandas")
    wrapped = FromDistributions(estimator=inner, threshold=0.3).fit(X, D)
    assert type(wrapped.predict(X)) is np.ndarray
    assert list(wrapped.set_output(transform="pandas").enhance(X, D).columns) == LABELS
    assert wrapped.score(X, D) == pytest.approx(
        FromDistributions(estimator=DLDL(**FIXED), threshold=0.3).fit(X, D).score(X, D)
    )
    search = GridSearchCV(wrapped, {"estimator__gamma": [0.1, 1.0]}, cv=2).fit(X, D)
    assert isinstance(search.predict(X), pd.DataFrame)
    two = EnhanceThenLearn(
        enhancer=UniformLE().set_output(transform="polars"),
        learner=SABFGS().set_output(transform="pandas"),
    )
    assert type(two.fit_enhance(X, Y)) is np.ndarray


def test_conformal_intervals_as_frames(data):
    X, Y = data
    D = Y.div(Y.sum(axis=1), axis=0)
    sure = ConformalIntervals(DLDL(**FIXED).set_output(transform="pandas").fit(X, Y)).fit(X, D)
    arrays = sure.predict_interval(X)
    assert all(type(end) is np.ndarray for end in arrays)
    for end, frame in zip(
        arrays, sure.set_output(transform="pandas").predict_interval(X), strict=True
    ):
        pd.testing.assert_frame_equal(frame, pd.DataFrame(end, columns=LABELS, index=X.index))


def test_unknown_container_raises():
    with pytest.raises(
        ParameterError, match="transform must be one of default, pandas, polars, got 'arrow'"
    ):
        DLDL().set_output(transform="arrow")


def test_model_file_keeps_the_setting(data, tmp_path):
    X, Y = data
    save_model(DLDL(**FIXED).set_output(transform="pandas").fit(X, Y), tmp_path / "m.ldl")
    assert list(load_model(tmp_path / "m.ldl").predict(X).columns) == LABELS


@pytest.mark.parametrize("id", ["key", None])
def test_table_model_returns_the_type_of_its_input(data, id):
    X, Y = data
    table = pd.concat([X, Y], axis=1).assign(key=[f"k{i}" for i in range(24)])
    estimator = DLDL(**FIXED).set_output(
        transform="pandas"
    )  # ignored: the table determines the type
    model = TableModel.fit(
        table, LABELS, estimator=estimator, columns=ColumnOptions(features=["a", "b"], id=id)
    )
    for method in (model.predict, model.enhance):
        frame, other = method(table), method(pl.from_pandas(table))
        assert list(frame.index) == list(table.index)
        assert list(frame.columns) == LABELS
        assert isinstance(other, pl.DataFrame)
        assert other.columns == (["key", *LABELS] if id else LABELS)
        np.testing.assert_array_equal(other.select(LABELS).to_numpy(), frame.to_numpy())
    assert method(pl.from_pandas(table.drop(columns="key"))).columns == LABELS


class DoublingTransformer(BaseEstimator):
    """A transformer without set_output."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * np.asarray(X)

    def fit_transform(self, X, y=None):
        return self.transform(X)


INNER = {
    "rbf": DLDL(feature_map="rbf", **FIXED),
    "votes": VoteLDL(feature_map="rbf"),
    "pipeline": DLDL(feature_map=make_pipeline(StandardScaler(), PolynomialFeatures()), **FIXED),
    "union": DLDL(feature_map=make_union(DoublingTransformer(), PolynomialFeatures()), **FIXED),
    "neighbors": DLDL(
        neighbors=KNeighborsTransformer(n_neighbors=4), n_neighbors=3, **FIXED | {"alpha": 0.1}
    ),
    "two steps": EnhanceThenLearn(enhancer=DLDL(**FIXED), learner=SABFGS(max_iter=2)),
}


@pytest.mark.parametrize("container", ["pandas", "polars"])
@pytest.mark.parametrize("name", INNER)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_inner_estimators_return_arrays_under_global_setting(data, name, container):
    X, Y = (table.to_numpy(float) for table in data)
    before = clone(INNER[name]).fit(X, Y)
    P, score = before.predict(X), before.score(X, Y)
    with sklearn.config_context(transform_output=container):
        inside = clone(INNER[name]).fit(X, Y)
        for model in (before, inside):
            np.testing.assert_array_equal(model.predict(X).to_numpy(), P)
            assert model.score(X, Y) == pytest.approx(score)
    np.testing.assert_array_equal(inside.predict(X), P)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_inner_transformers_with_frame_output(data, container):
    X, Y = (table.to_numpy(float) for table in data)
    by_name = make_column_transformer((PolynomialFeatures(), ["x0", "x1"]))
    chosen = make_pipeline(FunctionTransformer(feature_names_out="one-to-one"), by_name)
    expected = DLDL(feature_map=PolynomialFeatures(), **FIXED).fit(X, Y).predict(X)
    for feature_map in (PolynomialFeatures(), make_pipeline(PolynomialFeatures()), chosen):
        with_frames = feature_map.set_output(transform=container)
        np.testing.assert_allclose(
            DLDL(feature_map=with_frames, **FIXED).fit(X, Y).predict(X), expected
        )
    near = KNeighborsTransformer(n_neighbors=4).set_output(transform=container)
    model = DLDL(neighbors=near, n_neighbors=3, **FIXED | {"alpha": 0.1}).fit(X, Y)
    assert type(model.enhance(X, Y)) is np.ndarray


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_cross_validation_of_models_with_frame_output(data, container):
    X, Y = data
    plain = cross_val_score(DLDL(**FIXED), X, Y, cv=2)
    with_frames = cross_val_score(
        DLDL(**FIXED).set_output(transform=container), X, Y, cv=2, error_score="raise"
    )
    np.testing.assert_allclose(with_frames, plain)
