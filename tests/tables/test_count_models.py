"""Models of counts of votes on tables: files, cards, explanations and ONNX."""

import numpy as np
import pytest
from example_tables import LABELS, make_table

from ldlearn import SABFGS, CountLDL, EnhanceThenLearn, VoteShares
from ldlearn.tables import (
    ColumnOptions,
    TableModel,
    explain_row,
    export_onnx,
    load_table_model,
    save_model,
)
from ldlearn.tables.description import describe_file, write_card

COLUMNS = ColumnOptions(features=["height", "wet", "place"], kind="votes")


@pytest.fixture(scope="module")
def table():
    table = make_table(60)
    rng = np.random.default_rng(0)
    table[LABELS] = (table[LABELS] > 0) * rng.integers(1, 4, size=(60, len(LABELS)))
    return table


@pytest.fixture(scope="module")
def model(table):
    return TableModel.fit(table, LABELS, estimator=CountLDL(gamma=0.5), columns=COLUMNS)


def test_files_restore_predictions_and_posteriors(table, model, tmp_path):
    save_model(model, tmp_path / "m.ldl")
    again = load_table_model(tmp_path / "m.ldl")
    new = make_table(20, seed=3)
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    X = model.transform(table)
    votes = table[LABELS].to_numpy()
    for method in ("enhance", "enhance_interval", "vote_gain"):
        expected = getattr(model.estimator, method)(X, votes)
        np.testing.assert_array_equal(getattr(again.estimator, method)(X, votes), expected)


def test_card_describes_what_was_learned(model, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed: pip install jinja2")
    save_model(model, tmp_path / "m.ldl")
    found = describe_file(tmp_path / "m.ldl")
    assert found["method"] == "CountLDL"
    assert found["learned"]["votes_per_row_"] == pytest.approx(model.estimator.votes_per_row_)
    write_card(found, tmp_path / "card.html")
    assert "CountLDL" in (tmp_path / "card.html").read_text()


def test_contributions_sum_to_the_prediction(table, model):
    found = explain_row(table, model, 7)
    predicted = model.predict(table.loc[[7]]).to_numpy()[0]
    np.testing.assert_allclose(found.degrees, predicted)
    log_ratio = np.log(found.degrees / found.average_degrees)
    contributions = found.contributions.sum(axis=0)
    np.testing.assert_allclose(contributions, log_ratio - log_ratio.mean(), atol=1e-10)


@pytest.mark.parametrize(
    "estimator",
    [
        CountLDL(gamma=0.5),
        CountLDL(),
        EnhanceThenLearn(enhancer=CountLDL(gamma=0.5), learner=SABFGS(l2=1.0)),
    ],
    ids=["CountLDL", "selected", "two steps"],
)
def test_onnx_gives_the_same_predictions(table, estimator, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
    runtime = pytest.importorskip(
        "onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime"
    )
    columns = ColumnOptions(features=["height", "wet"], kind="votes")
    model = TableModel.fit(table, LABELS, estimator=estimator, columns=columns)
    export_onnx(model, tmp_path / "m.onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
    new = make_table(20, seed=3)
    numbers = new[list(model.numeric)].to_numpy(dtype=float)
    found = session.run(["degrees"], {"numbers": numbers})[0]
    np.testing.assert_allclose(found, model.predict(new).to_numpy(), atol=1e-6)


def test_shares_of_votes_depend_on_no_feature(table):
    model = TableModel.fit(table, LABELS, estimator=VoteShares(), columns=COLUMNS)
    predicted = model.predict(make_table(20, seed=3)).to_numpy()
    np.testing.assert_allclose(predicted, np.tile(model.estimator.mean_distribution_, (20, 1)))
