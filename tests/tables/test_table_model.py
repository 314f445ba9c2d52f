"""Table models: columns, preprocessing, scores, held-out check, ONNX."""

from __future__ import annotations

import pickle
from functools import cache

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables import LABELS, make_table
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_approximation import Nystroem

from ldlearn import (
    DLDL,
    MLPLDL,
    SABFGS,
    BoostedLDL,
    EnhanceThenLearn,
    FromDistributions,
    PriorLE,
    StackedLDL,
    all_estimators,
)
from ldlearn.compose.method_names import make_enhancer, make_predictor, method_name
from ldlearn.exceptions import InputError, ModelFileError, ParameterError, TableError
from ldlearn.metrics.against_baselines import score_with_baselines
from ldlearn.tables import (
    ColumnOptions,
    TableModel,
    export_onnx,
    features,
    fit_table,
    load_model,
    save_model,
    table_fit,
)
from ldlearn.tables.column_types import CellReport
from ldlearn.tables.description import softmax_coefficients, strongest_features
from ldlearn.tables.table_fit import _fit_plain_classifier, held_out_scores
from ldlearn.tables.values import is_numeric, to_labels, to_numbers, to_texts

FEATURES = ["height", "wet", "place"]
QUICK = DLDL(beta=10.0, gamma=1.0)  # selecting beta and gamma takes most of the time
RBF = DLDL(beta=10.0, gamma=0.1, feature_map="rbf")


@cache  # shared, read-only
def fitted(**options) -> TableModel:
    return TableModel.fit(make_table(), LABELS, **options, columns=ColumnOptions(features=FEATURES))


def test_preprocessing_imputes_encodes_and_scales():
    table = make_table()
    X = fitted().transform(table)
    wet = table["wet"].fillna(table["wet"].median())
    np.testing.assert_allclose(X[:, 1], (wet - wet.mean()) / wet.std(ddof=0))
    place = table["place"].fillna(table["place"].mode()[0])
    for j, value in enumerate(["coast", "inland", "island"]):
        np.testing.assert_array_equal(X[:, 2 + j], place == value)
    new = pd.DataFrame({"height": [0.0], "wet": [0.0], "place": ["moon"]})
    np.testing.assert_array_equal(fitted().transform(new, CellReport())[:, 2:], 0)


def test_model_files_joblib_and_pickle_restore_table_models(tmp_path):
    table = make_table()
    model = fit_table(table, LABELS, columns=ColumnOptions(features=FEATURES))
    save_model(model, tmp_path / "m.ldl")
    joblib.dump(model, tmp_path / "m.joblib")
    copies = (
        load_model(tmp_path / "m.ldl"),
        joblib.load(tmp_path / "m.joblib"),
        pickle.loads(pickle.dumps(model)),
    )
    for again in copies:
        assert again.facts == model.facts
        np.testing.assert_array_equal(again.predict(table), model.predict(table))
        np.testing.assert_array_equal(again.enhance(table), model.enhance(table))


@pytest.mark.parametrize("name", [name for name, cls in all_estimators() if cls.kind != "enhancer"])
def test_every_method_that_predicts_works_on_tables(name, tmp_path):
    cls = dict(all_estimators())[name]
    table = make_table(60)
    if cls.kind == "learner":
        table[LABELS] = table[LABELS].div(table[LABELS].sum(axis=1), axis=0)
    estimator = cls(**cls._test_params[0])
    model = TableModel.fit(
        table, LABELS, estimator=estimator, columns=ColumnOptions(features=FEATURES)
    )
    save_model(model, tmp_path / "m.ldl")
    P = load_model(tmp_path / "m.ldl").predict(table)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_array_equal(P, model.predict(table))


def test_column_selection_of_data_frames():
    model = TableModel.fit(
        make_table(),
        "sky:sea",
        estimator=QUICK,
        columns=ColumnOptions(features="height:place", id="key"),
    )
    assert (model.labels, model.features, model.id) == (tuple(LABELS), tuple(FEATURES), "key")
    with pytest.raises(TableError, match=r"numeric: there is no column 'wett'; did you mean wet"):
        TableModel.fit(make_table(), LABELS, columns=ColumnOptions(numeric=["wett"], id="key"))


def test_column_options_accept_index_and_empty_sequences():
    table = make_table()[[*FEATURES, *LABELS]]
    columns = ColumnOptions(
        features=table.columns[:3],
        numeric=(),
        categorical=[],
        datetime={},
        text=table.columns[:0],
        ignore=(),
    )
    model = TableModel.fit(table, table.columns[-3:], estimator=QUICK, columns=columns)
    assert (model.labels, model.features) == (tuple(LABELS), tuple(FEATURES))
    with pytest.raises(TableError, match="features names no column"):
        TableModel.fit(table, LABELS, estimator=QUICK, columns=ColumnOptions(features=[]))
    days = [f"{1 + i % 28:02}/02/2024" for i in range(len(table))]
    dated = TableModel.fit(
        table.assign(day_1=days, day_2=days),
        LABELS,
        estimator=QUICK,
        columns=ColumnOptions(datetime={"day_*": "%d/%m/%Y"}),
    )
    assert dated.types.formats == {"day_1": "%d/%m/%Y", "day_2": "%d/%m/%Y"}


def test_polars_frames_are_supported():
    table = make_table()
    pandas_model = fitted(estimator=QUICK)
    polars_model = TableModel.fit(
        pl.from_pandas(table), LABELS, estimator=QUICK, columns=ColumnOptions(features=FEATURES)
    )
    np.testing.assert_allclose(
        polars_model.predict(pl.from_pandas(table)).to_numpy(),
        pandas_model.predict(table).to_numpy(),
        atol=1e-12,
    )


def test_predict_keeps_the_index():
    table = make_table().set_index("key")
    assert list(fitted().predict(table).index) == list(table.index)


def test_errors_name_row_and_column():
    table = make_table().astype(object)
    table.loc[7, "wet"] = np.inf
    with pytest.raises(TableError, match="row 7, column 'wet': inf is not a finite number"):
        fitted().predict(table)
    with pytest.raises(TableError, match="1 feature column is missing: 'wet'"):
        fitted().predict(table.drop(columns="wet"))
    with pytest.raises(TableError, match="data frame"):
        fitted().predict(np.zeros((2, 3)))
    with pytest.raises(TableError, match="two columns have this name"):
        fitted().predict(pd.concat([table, table], axis=1))
    with pytest.raises(TableError, match="only to the rows it was fitted on"):
        fitted(estimator=EnhanceThenLearn()).enhance(table)


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(-(2**50), 2**50),
        )
    )
)
@settings(deadline=None, max_examples=60)
def test_numbers_as_text_are_parsed_exactly(values):
    as_numbers = pd.Series(values, dtype=object)
    as_text = pd.Series(["" if v is None else f" {v!r} " for v in values], dtype=object)
    expected = np.array([np.nan if v is None else float(v) for v in values])
    assert is_numeric(as_numbers)
    assert is_numeric(as_text.str.strip())
    np.testing.assert_array_equal(to_numbers(as_numbers, "x"), expected)
    np.testing.assert_allclose(to_numbers(as_text.str.strip(), "x"), expected, rtol=1e-15)


def test_categories_have_the_same_text_from_every_dtype():
    for values in ([1, 2, None], [1.0, 2.0, np.nan], ["1", "2", "NA"]):
        assert to_texts(pd.Series(values, dtype=object), "x")[:2] == ["1", "2"]
        assert pd.isna(to_texts(pd.Series(values, dtype=object), "x")[2])
    assert to_texts(pd.Series([True, False]), "x") == ["true", "false"]
    assert to_texts(pd.Series(["TRUE", "False"]), "x") == ["true", "false"]
    assert not is_numeric(pd.Series([True, False], dtype=object))
    with pytest.raises(TableError, match="row 1, column 'x': a value of type dict"):
        to_texts(pd.Series(["a", {}], dtype=object), "x")


def test_labels_as_words_and_booleans():
    frame = pd.DataFrame({"a": ["yes", "No"], "b": [True, False], "c": ["1", "0"], "d": [1.0, 0.0]})
    np.testing.assert_array_equal(to_labels(frame, list("abcd")), [[1, 1, 1, 1], [0, 0, 0, 0]])


def test_scores_against_labels_match_hand_computed_values():
    Y, P = (
        np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
        np.array([[0.5, 0.3, 0.2], [0.2, 0.7, 0.1]]),
    )
    found = score_with_baselines(Y, P, np.array([0.4, 0.4, 0.2]), None, logical=True)
    scores = {score.name: score for score in found["scores"]}
    assert scores["top_label_error"].model == 0
    assert scores["positive_mass"].model == pytest.approx(0.7)
    assert scores["positive_mass"].mean == pytest.approx((0.6 + 0.4) / 2)
    assert scores["positive_mass"].uniform == pytest.approx(0.5)
    assert scores["ranking_loss"].model == pytest.approx(0.25)
    assert scores["positive_mass"].beats_baselines
    assert not scores["top_label_error"].beats_baselines or scores["top_label_error"].mean > 0


def test_metric_of_another_kind_of_truth_is_rejected():
    Y, P = np.array([[1.0, 0.0], [1.0, 1.0]]), np.full((2, 2), 0.5)
    with pytest.raises(
        InputError, match="cosine needs true degrees, but the table has 0/1 labels; choose"
    ):
        score_with_baselines(Y, P, P[0], None, True, ["cosine"])
    with pytest.raises(
        InputError, match="ranking_loss needs 0/1 labels, but the table has degrees; choose"
    ):
        score_with_baselines(P, P, P[0], None, False, ["ranking_loss"])


def test_held_out_check_detects_informative_features():
    rng = np.random.default_rng(1)
    n = 300
    x = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "x": x,
            "noise": rng.normal(size=n),
            "low": (x < 0.5).astype(int),
            "high": (x > -0.5).astype(int),
        }
    )
    informed = fit_table(table, ["low", "high"])
    assert informed.facts["holdout"]["better_than_baselines"] is True
    assert not any("Uninformative" in w for w in informed.facts["warnings"])
    blind = fit_table(table, ["low", "high"], columns=ColumnOptions(features=["noise"]))
    assert blind.facts["holdout"]["better_than_baselines"] is False
    assert any("Uninformative" in w for w in blind.facts["warnings"])
    few = fit_table(table[:20], ["low", "high"])
    assert few.facts["holdout"] is None
    assert any("too few" in w for w in few.facts["warnings"])


def test_classifier_baseline_is_scored_for_small_tables(tmp_path, monkeypatch):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(120, 2))
    labels = pd.DataFrame(
        (x + 0.3 * rng.normal(size=x.shape) > -0.5).astype(int), columns=["low", "high"]
    )
    labels[~labels.any(axis=1)] = 1
    table = pd.concat([pd.DataFrame(x, columns=["x", "z"]), labels], axis=1)
    model = fit_table(table, ["low", "high"])
    save_model(model, tmp_path / "m.ldl")
    scores = {score.name: score for score in held_out_scores(load_model(tmp_path / "m.ldl").facts)}
    likely = scores["vote_likelihood"]
    assert likely.mean < likely.classifier < 0
    monkeypatch.setattr(table_fit, "_MAX_CLASSIFIER_SIZE", 100)
    assert _fit_plain_classifier(DLDL(), x, labels.to_numpy(dtype=float), None) is None
    exact = fit_table(table.assign(low=0.25, high=0.75), ["low", "high"], method=SABFGS())
    assert all(score.classifier is None for score in held_out_scores(exact.facts))


def test_linear_models_are_recognised_and_explained():
    assert softmax_coefficients(fitted(estimator=DLDL(feature_map="rbf")).estimator) is None
    for estimator in (DLDL(), EnhanceThenLearn(enhancer=PriorLE(), learner=SABFGS())):
        model = fitted(estimator=estimator)
        coef, intercept = softmax_coefficients(model.estimator)
        assert coef.shape == (3, 5)
        assert intercept.shape == (3,)
    assert strongest_features(model)[LABELS[1]][0][0] == "height"


def onnx_inputs(model: TableModel, table: pd.DataFrame) -> dict[str, np.ndarray]:
    inputs = {}
    if model.numeric:
        inputs["numbers"] = table[list(model.numeric)].to_numpy(dtype=float)
    if model.categorical:
        texts = table[list(model.categorical)].astype(object)
        inputs["texts"] = texts.where(texts.notna(), "").to_numpy(dtype=object)
    return inputs


@pytest.mark.parametrize(
    "features", [["height", "wet"], ["place"], FEATURES], ids=["numbers", "texts", "both"]
)
@pytest.mark.parametrize(
    "method",
    [
        QUICK,
        EnhanceThenLearn(),
        SABFGS(),
        FromDistributions(estimator=QUICK),
        MLPLDL(hidden_layer_sizes=3, max_iter=5),
        RBF,
    ],
    ids=["DLDL", "EnhanceThenLearn", "SABFGS", "FromDistributions", "MLPLDL", "RBF"],
)
def test_onnx_gives_the_same_predictions(features, method, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
    runtime = pytest.importorskip(
        "onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime"
    )
    table = make_table()
    if method.kind == "learner":
        table[LABELS] = table[LABELS].div(table[LABELS].sum(axis=1), axis=0)
    model = TableModel.fit(
        table, LABELS, estimator=method, columns=ColumnOptions(features=features)
    )
    export_onnx(model, tmp_path / "m.onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
    new = make_table(50, seed=3)
    new.loc[2, "place"] = "moon"
    found = session.run(["degrees"], onnx_inputs(model, new))[0]
    np.testing.assert_allclose(found, model.predict(new).to_numpy(), atol=1e-6)
    np.testing.assert_allclose(
        found, model.predict(new).to_numpy(), atol=1e-12
    )  # double precision is more accurate than required
    assert session.get_modelmeta().custom_metadata_map["degrees"] == "\n".join(LABELS)


def test_onnx_of_trees_and_stacks_in_single_precision(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
    pytest.importorskip("lightgbm", reason="LightGBM is not installed: pip install lightgbm")
    runtime = pytest.importorskip(
        "onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime"
    )
    table, new = make_table(), make_table(50, seed=3)
    stack = TableModel.fit(
        table, LABELS, estimator=StackedLDL(teacher=QUICK), columns=ColumnOptions(features=FEATURES)
    )
    stack.estimator.member_weights_ = np.array([0.1, 0.2, 0.3, 0.1, 0.3])
    table[LABELS] = table[LABELS].div(table[LABELS].sum(axis=1), axis=0)
    trees = BoostedLDL(n_estimators=5, min_samples_leaf=2, max_features=1.0)
    boosted = TableModel.fit(
        table, LABELS, estimator=trees, columns=ColumnOptions(features=FEATURES)
    )
    constant = TableModel.fit(
        table[:1], LABELS, estimator=trees, columns=ColumnOptions(features=["height"])
    )
    assert constant.estimator.trees_ is None
    for model in (stack, boosted, constant):
        export_onnx(model, tmp_path / "m.onnx")
        session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
        found = session.run(["degrees"], onnx_inputs(model, new))[0]
        assert (found.std(axis=0).max() > 0.02) == (model is not constant)
        np.testing.assert_allclose(found, model.predict(new).to_numpy(), atol=1e-6)


def test_onnx_accepts_every_spelling_of_booleans(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
    runtime = pytest.importorskip(
        "onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime"
    )
    table = make_table()
    table["wide"] = np.where(table["height"] > table["height"].median(), "True", "False")
    model = TableModel.fit(
        table, LABELS, estimator=QUICK, columns=ColumnOptions(features=["wet", "wide"])
    )
    export_onnx(model, tmp_path / "m.onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
    spellings = ["True", "TRUE", "true", "False", "FALSE", "false"]
    new = table[:6].assign(wide=spellings)
    numbers, texts = new[["wet"]].to_numpy(float), np.array([[text] for text in spellings])
    found = session.run(["degrees"], {"numbers": numbers, "texts": texts})[0]
    np.testing.assert_allclose(found, model.predict(new).to_numpy(), atol=1e-12)


def test_onnx_rejects_unsupported_models(tmp_path):
    other_kernel = DLDL(beta=10.0, gamma=1.0, feature_map=Nystroem("linear", n_components=2))
    with pytest.raises(ModelFileError, match="softmax of linear scores"):
        export_onnx(fitted(estimator=other_kernel), tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_methods_by_name():
    assert method_name(make_predictor("glle+sabfgs")) == "GLLE+SABFGS"
    assert method_name(make_predictor("SABFGS", logical=True)) == "UniformLE+SABFGS"
    assert method_name(make_predictor("SABFGS", logical=False)) == "SABFGS"
    assert make_predictor("DLDL", {"alpha": 0.5}).alpha == 0.5
    assert make_enhancer("GLLE").kind == "enhancer"
    for wrong in ("FromDistributions", "DLD", "SABFGS+GLLE"):
        with pytest.raises(ParameterError):
            make_predictor(wrong)
    with pytest.raises(ParameterError, match="protocol of an experiment; name the method"):
        make_enhancer("FromDistributions")


@pytest.mark.parametrize("kind", ["auto", "mixed"])
def test_held_out_check_with_selected_kind(kind):
    rng = np.random.default_rng(3)
    x = rng.normal(size=90)
    table = pd.DataFrame({"x": x, "low": (x < 0.5).astype(float), "high": (x > -0.5).astype(float)})
    if kind == "mixed":
        table.loc[:9, ["low", "high"]] = [0.3, 0.7]
    model = fit_table(
        table, ["low", "high"], method=DLDL(beta=10.0, gamma=1.0), columns=ColumnOptions(kind=kind)
    )
    assert all(score.classifier is not None for score in held_out_scores(model.facts))
    assert model.facts["holdout"] is not None


@pytest.mark.parametrize("n_missing", [0, 1, 20, 40])
def test_moments_are_those_of_imputed_columns(n_missing):
    values = np.random.default_rng(n_missing).normal(size=(40, 3)).round(1)
    values[:n_missing, 1] = np.nan
    medians = pd.DataFrame(values).median().fillna(0.0).to_numpy()
    filled = np.where(np.isnan(values), medians, values)
    scales = filled.std(axis=0)
    expected = [medians, filled.mean(axis=0), np.where(scales > 0, scales, 1.0)]
    np.testing.assert_allclose(
        features._median_mean_and_scale(values), expected, rtol=1e-12, atol=1e-12
    )
