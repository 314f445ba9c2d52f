"""Contributions of columns to the prediction for one row."""

import numpy as np
import pandas as pd
import pytest
from example_tables import LABELS, make_table, make_votes

from ldlearn.exceptions import ParameterError, TableError
from ldlearn.joint import DLDL, CountLDL
from ldlearn.learning import AAKNN
from ldlearn.tables import ColumnOptions, TableModel, explain_row, load_table_model, save_model

FAST = {"alpha": 0.0, "beta": 0.1, "gamma": 0.1}


@pytest.fixture(scope="module")
def table():
    table = make_table(60)
    table["when"] = pd.date_range("2024-01-01", periods=60, freq="9D").astype(str)
    words = np.array(["lake", "rock", "wave", "cloud", "path"])
    picks = np.random.default_rng(0).integers(5, size=(60, 3))
    table["note"] = [f"{' and '.join(words[row])}, seen number {k}" for k, row in enumerate(picks)]
    return table


@pytest.fixture(scope="module")
def model(table):
    return TableModel.fit(
        table,
        LABELS,
        estimator=DLDL(**FAST),
        columns=ColumnOptions(id="key", datetime="when", text="note"),
    )


def centred_logs(degrees):
    logs = np.log(np.asarray(degrees))
    return logs - logs.mean(axis=-1, keepdims=True)


def test_contributions_sum_to_the_difference_from_the_average_row(table, model):
    X = model.transform(table)
    X = X.toarray() if hasattr(X, "toarray") else X
    average = model.estimator.predict(X.mean(axis=0, keepdims=True))[0]
    for row in (0, 3, 17):  # in row 3 a number is missing
        found = explain_row(table, model, row)
        assert np.allclose(found.degrees, model.predict(table.loc[[row]]).to_numpy()[0])
        assert np.allclose(found.average_degrees, average)
        difference = centred_logs(found.degrees) - centred_logs(average)
        assert np.allclose(found.contributions.sum(axis=0), difference)
        assert np.allclose(found.contributions.sum(axis=1), 0)
        sizes = np.abs(found.contributions).max(axis=1)
        assert (np.diff(sizes) <= 0).all()


def test_contribution_is_the_effect_of_setting_the_column_to_its_mean(table, model):
    found = explain_row(table, model, 17)
    changed = table.loc[[17]].assign(height=table["height"].mean())
    difference = centred_logs(found.degrees) - centred_logs(model.predict(changed).to_numpy()[0])
    part = next(k for k, name in enumerate(found.parts) if name.startswith("height "))
    assert np.allclose(found.contributions[part], difference)


def test_contribution_of_a_category_is_relative_to_the_average_category(table, model):
    """The mean of centred log-degrees over the training values of a column is the reference for its
    contribution."""
    found = explain_row(table, model, 17)
    places = table["place"].fillna(model.preprocessing.modes["place"])
    changed = pd.concat([table.loc[[17]]] * len(table)).assign(place=places.to_numpy())
    mean = centred_logs(model.predict(changed).to_numpy()).mean(axis=0)
    part = next(k for k, name in enumerate(found.parts) if name.startswith("place "))
    assert np.allclose(found.contributions[part], centred_logs(found.degrees) - mean)


def test_words_of_a_text_have_separate_contributions(table, model):
    found = explain_row(table, model, 17)
    words = {name.removeprefix("note: ") for name in found.parts if name.startswith("note: ")}
    present = set(table.loc[17, "note"].replace(",", "").split())
    assert words == (present & set(model.preprocessing.encoders["note"].vocabulary)) | {
        "(absent words)"
    }
    assert sum(name.startswith("when ") for name in found.parts) == 1


def test_explain_row_from_files(table, model, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    save_model(model, tmp_path / "m.ldl")
    read = explain_row(str(tmp_path / "t.csv"), str(tmp_path / "m.ldl"), 19)
    assert np.allclose(read.contributions, explain_row(table, model, 17).contributions)
    assert load_table_model(tmp_path / "m.ldl").preprocessing.feature_means.shape == (
        model.estimator.n_features_in_,
    )
    with pytest.raises(TableError, match="no row 1"):  # the header
        explain_row(str(tmp_path / "t.csv"), model, 1)
    with pytest.raises(TableError, match="2 to 61"):
        explain_row(str(tmp_path / "t.csv"), model, 62)


def test_prediction_of_a_model_of_counts_is_explained():
    votes = make_votes(60)
    columns = ColumnOptions(id="key", kind="votes")
    model = TableModel.fit(votes, LABELS, estimator=CountLDL(gamma=1.0), columns=columns)
    found = explain_row(votes, model, 17)
    assert np.allclose(found.degrees, model.predict(votes.loc[[17]]).to_numpy()[0])
    difference = centred_logs(found.degrees) - centred_logs(found.average_degrees)
    assert np.allclose(found.contributions.sum(axis=0), difference)


def test_nonlinear_models_are_rejected(table):
    degrees = table.assign(**dict.fromkeys(LABELS, 1 / 3))
    fitted = TableModel.fit(
        degrees,
        LABELS,
        estimator=AAKNN(),
        columns=ColumnOptions(numeric="height", features="height"),
    )
    with pytest.raises(ParameterError, match="AAKNN is not linear"):
        explain_row(table, fitted, 3)
    mapped = TableModel.fit(
        table,
        LABELS,
        estimator=DLDL(feature_map="rbf", **FAST),
        columns=ColumnOptions(features="height"),
    )
    with pytest.raises(ParameterError, match="not linear"):
        explain_row(table, mapped, 3)
