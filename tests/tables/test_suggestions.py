"""Degrees for Argilla, Label Studio and Hugging Face datasets."""

import json

import numpy as np
import pytest
from example_tables import LABELS, make_table, make_votes
from pyarrow import parquet

from ldlearn.exceptions import ParameterError
from ldlearn.joint import DLDL, CountLDL
from ldlearn.tables import ColumnOptions, TableModel, WritingOptions, write_suggestions
from ldlearn.tables.annotation_formats import to_annotation_task


@pytest.fixture(scope="module")
def table():
    return make_table(30)


@pytest.fixture(scope="module")
def model(table):
    return TableModel.fit(
        table,
        LABELS,
        estimator=DLDL(alpha=0.0, beta=0.1, gamma=0.1),
        columns=ColumnOptions(id="key"),
    )


def test_argilla(table, model, tmp_path):
    path = tmp_path / "records.json"
    write_suggestions(
        table,
        model,
        str(path),
        program="argilla",
        question="view",
        writing=WritingOptions(keep="place"),
    )
    records = json.loads(path.read_text())
    D = model.enhance(table)
    for record, key, place, (_, degrees) in zip(
        records, table["key"], table["place"], D.iterrows(), strict=True
    ):
        assert record["id"] == key
        assert record["fields"] == {"place": place if isinstance(place, str) else None}
        suggestion = record["suggestions"]["view"]
        expected = degrees[degrees >= 1 / 3].sort_values(ascending=False, kind="stable")
        assert suggestion["value"] == list(expected.index)
        assert suggestion["score"] == pytest.approx(expected.tolist())
    assert to_annotation_task(records[0])["annotations"] == []  # nothing is an annotation yet


def test_label_studio(table, model, tmp_path):
    path = tmp_path / "tasks.json"
    write_suggestions(
        table.drop(columns=LABELS),
        model,
        str(path),
        program="label-studio",
        writing=WritingOptions(keep="place"),
    )
    task = json.loads(path.read_text())[3]
    result = task["predictions"][0]["result"][0]
    P = model.predict(table).iloc[3]
    assert set(result["value"]["choices"]) == set(P.index[P >= 1 / 3])
    assert (result["from_name"], result["to_name"], result["type"]) == ("label", "place", "choices")
    assert task["data"]["item"] == "r3"


def test_soft_labels(table, model, tmp_path):
    path = tmp_path / "soft.parquet"
    partly = table.astype(dict.fromkeys(LABELS, float))
    partly.loc[4, LABELS] = np.nan
    write_suggestions(partly, model, str(path), program="datasets")
    found = parquet.read_table(path)
    assert found.column_names == ["key", "height", "wet", "place", "soft_labels"]
    assert json.loads(found.schema.metadata[b"labels"]) == LABELS
    soft = np.array(found["soft_labels"].to_pylist())
    expected = model.enhance(table).to_numpy(copy=True)
    expected[4] = model.predict(table).to_numpy()[4]
    assert np.allclose(soft, expected, atol=1e-6)
    assert found["wet"][3].as_py() is None


def test_soft_labels_of_counts_are_the_recovered_degrees(tmp_path):
    votes = make_votes(30)
    model = TableModel.fit(
        votes,
        LABELS,
        estimator=CountLDL(gamma=1.0),
        columns=ColumnOptions(id="key", kind="votes"),
    )
    write_suggestions(votes, model, str(tmp_path / "soft.parquet"), program="datasets")
    soft = np.array(parquet.read_table(tmp_path / "soft.parquet")["soft_labels"].to_pylist())
    X = model.transform(votes)
    assert np.allclose(soft, model.estimator.enhance(X, votes[LABELS]), atol=1e-6)
    assert np.allclose(soft[[4, 7]], model.estimator.predict(X[[4, 7]]), atol=1e-6)


def test_errors(table, model, tmp_path):
    with pytest.raises(ParameterError, match="argilla"):
        write_suggestions(table, model, str(tmp_path / "x.json"), program="prodigy")
