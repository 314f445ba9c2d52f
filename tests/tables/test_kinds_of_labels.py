"""Kinds of labels: unknown cells, vote counts, degrees, one column of lists."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from ldlearn import AAKNN, DLDL, GLLE, SABFGS, EnhanceThenLearn, IncomLDL, VoteLDL
from ldlearn.core.targets import votes_to_degrees
from ldlearn.exceptions import InputError, ParameterError, TableError
from ldlearn.metrics import vote_likelihood
from ldlearn.tables import (
    ColumnOptions,
    ReadingOptions,
    TableModel,
    ask_table,
    enhance_table,
    evaluate_table,
    fit_enhance_table,
    fit_table,
    load_table_model,
    prepare_table,
    save_model,
)
from ldlearn.tables.table_labels import TableLabels

NAMES = ["sky", "sea", "hill"]


@pytest.fixture(scope="module")
def tables():
    """Features, and counts of votes that depend on them; row 0 has none."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    P = np.exp(X @ rng.normal(size=(3, 3)))
    counts = rng.poisson(6.0 * P / P.sum(axis=1, keepdims=True))
    counts[counts.sum(axis=1) == 0, 0] = 1
    return pd.DataFrame(X, columns=list("abc")), counts


def add_columns(features, values, names=NAMES):
    return pd.concat([features, pd.DataFrame(values, columns=names)], axis=1)


def test_label_without_zeros_triggers_a_warning(tables):
    features, counts = tables
    Y = (counts > 0).astype(float)
    Y[:, 1] = np.where(Y[:, 1] > 0, 1.0, np.nan)
    warnings = fit_table(
        add_columns(features, Y), NAMES, method=DLDL(beta=1.0, gamma=0.3), holdout=0
    ).facts["warnings"]
    assert any("always positive" in message and message.endswith("'sea'.") for message in warnings)


@pytest.mark.parametrize("method", ["IncomLDL", "WInLDL"])
def test_missing_degrees_for_methods_that_support_them(tables, tmp_path, method):
    features, counts = tables
    D = counts / counts.sum(axis=1, keepdims=True)
    hidden = np.random.default_rng(1).random(D.shape) < 0.3
    partial = np.where(hidden, np.nan, D)
    path = tmp_path / "partial.csv"
    add_columns(features, partial).to_csv(path, index=False)
    model = fit_table(str(path), NAMES, method=method)
    save_model(model, tmp_path / "partial.ldl")
    X = model.transform(features)
    np.testing.assert_allclose(
        model.predict(features), clone(model.estimator).fit(X, partial).predict(X), atol=1e-9
    )
    loaded = load_table_model(tmp_path / "partial.ldl")
    np.testing.assert_array_equal(loaded.predict(features), model.predict(features))
    # A single missing degree follows from the others, so that its row is complete, and scored.
    several = hidden.sum(axis=1) > 1
    unknown = int(hidden[several].sum())
    assert any(
        text.startswith(f"{unknown} of 240 labels are unknown") for text in model.facts["warnings"]
    )
    assert 0 < model.facts["holdout"]["rows"] < 16
    known = np.where(hidden & several[:, None], np.nan, D)
    means = np.nanmean(known, axis=0)
    np.testing.assert_allclose(model.facts["mean_distribution"], means / means.sum())
    with pytest.raises(TableError, match=r"the label is missing; .*IncomLDL or WInLDL"):
        fit_table(str(path), NAMES, method="SABFGS")
    partial[7] = [0.9, 0.3, np.nan]
    with pytest.raises(TableError, match=r"row 7: .*first 1\.2"):
        TableModel.fit(add_columns(features, partial), NAMES, estimator=IncomLDL())


def test_empty_cells_are_unknown_labels(tables, tmp_path):
    features, counts = tables
    Y = (counts > 0).astype(float)
    hidden = np.random.default_rng(1).random(Y.shape) < 0.2
    partial = np.where(hidden, np.nan, Y)
    model = fit_table(add_columns(features, partial), NAMES, method=DLDL(beta=1.0, gamma=0.3))
    direct = DLDL(beta=1.0, gamma=0.3).fit(model.transform(features), partial)
    np.testing.assert_allclose(model.predict(features), direct.predict(model.transform(features)))
    assert model.facts["warnings"][0].startswith(f"{hidden.sum()} of 240 labels are unknown")
    assert model.facts["label_kind"] == "0/1"
    assert model.facts["label_means"]["sea"] == pytest.approx(np.nanmean(partial[:, 1]))
    assert model.facts["holdout"]["rows"] == 16  # each of these rows has a known label
    enhanced = model.enhance(add_columns(features, partial)).to_numpy()
    np.testing.assert_allclose(enhanced, direct.enhance(model.transform(features), partial))
    path = tmp_path / "partial.csv"
    add_columns(features, partial).to_csv(path, index=False)
    found = evaluate_table(str(path), model)
    assert found.rows == int((~hidden).any(axis=1).sum())
    (message,) = [text for text in found.messages if "unknown" in text]
    assert message.startswith(f"{hidden.sum()} of 240 labels")
    assert "not scored" in message
    scores = {score.name: score.model for score in found.scores}
    assert scores["vote_likelihood"] == pytest.approx(
        vote_likelihood(partial, model.predict(features).to_numpy())
    )


def make_check_boxes(tables, tmp_path, mark="x"):
    """Only positive labels are marked; the path of the table, and the table with 0/1 labels."""
    features, counts = tables
    logical = add_columns(features, (counts > 0).astype(float))
    boxes = logical.copy()
    boxes[NAMES] = np.where(boxes[NAMES] > 0, mark or NAMES, "")
    boxes.to_csv(tmp_path / "boxes.csv", index=False)
    return str(tmp_path / "boxes.csv"), boxes, logical


@pytest.mark.parametrize("mark", ["x", "1", ""], ids=["mark", "number", "option"])
def test_check_boxes_need_a_meaning_of_empty_cells(tables, tmp_path, mark):
    path, boxes, logical = make_check_boxes(tables, tmp_path, mark)
    settings = {
        "params": {"beta": 1.0, "gamma": 0.3},
        "holdout": 0,
        "reading": ReadingOptions(on_message=lambda message: None),
    }
    model = fit_table(path, NAMES, **settings, columns=ColumnOptions(blank=0))
    stop = pytest.raises(
        TableError,
        match=r"all known labels are positive, .*% of the label cells are empty; .*--blank 0",
    )
    for call in (
        lambda: fit_table(path, NAMES, **settings),
        lambda: TableModel.fit(boxes, NAMES),
        lambda: prepare_table(path, NAMES),
        lambda: fit_enhance_table(path, NAMES, str(tmp_path / "out.csv"), method="PriorLE"),
        lambda: enhance_table(path, model, str(tmp_path / "out.csv")),
        lambda: evaluate_table(path, model),
        lambda: model.enhance(boxes),
        lambda: ask_table(path, model, str(tmp_path / "out.csv")),
    ):
        with stop:
            call()
    plain = fit_table(logical, NAMES, **settings)
    np.testing.assert_array_equal(model.predict(boxes), plain.predict(logical))
    np.testing.assert_array_equal(model.enhance(boxes, blank=0), plain.enhance(logical))
    assert evaluate_table(path, model, columns=ColumnOptions(blank=0)).rows == 80
    assert (
        enhance_table(path, model, str(tmp_path / "out.csv"), columns=ColumnOptions(blank=0)).rows
        == 80
    )
    assert (
        ask_table(path, model, str(tmp_path / "out.csv"), columns=ColumnOptions(blank=0)).rows > 0
    )
    # Stated to be unknown, whatever that is good for.
    assert (
        enhance_table(
            path, model, str(tmp_path / "out.csv"), columns=ColumnOptions(blank=np.nan)
        ).rows
        == 80
    )
    assert prepare_table(path, NAMES, columns=ColumnOptions(blank=np.nan)).n_samples == 80


def test_few_empty_cells_or_a_single_zero_need_no_meaning(tables):
    features, _ = tables
    few = np.ones((80, 3))
    few[:24, 0] = np.nan
    assert TableLabels.from_columns(
        add_columns(features, few), NAMES
    ).is_logical  # 10 % of the cells
    few[24, 0] = np.nan
    with pytest.raises(TableError, match="10% of the label cells"):
        TableLabels.from_columns(add_columns(features, few), NAMES)
    few[0, 1] = 0
    assert TableLabels.from_columns(add_columns(features, few), NAMES).is_logical
    degrees = np.where(np.isnan(few), np.nan, 0.25)
    assert not TableLabels.from_columns(add_columns(features, degrees), NAMES).is_logical


def test_unsupported_unknown_labels_are_reported_with_row_and_label(tables):
    features, counts = tables
    Y = (counts > 0).astype(float)
    Y[3, 1] = np.nan
    table = add_columns(features, Y).set_axis(range(1, 81), axis=0)
    with pytest.raises(
        TableError, match=r"row 4, column 'sea': .*EnhanceThenLearn takes no unknown labels"
    ):
        TableModel.fit(table, NAMES, estimator=EnhanceThenLearn(enhancer=GLLE()))
    with pytest.raises(TableError, match="row 4, column 'sea': the label is missing"):
        TableModel.fit(table, NAMES, estimator=SABFGS())


def test_votes_are_degrees_weighted_by_their_number(tables):
    features, counts = tables
    counts = counts.copy()
    counts[5] = 0
    degrees, weights = votes_to_degrees(counts)
    assert np.isnan(degrees[5]).all()
    assert weights[5] == 0
    kept = weights > 0
    table = add_columns(features, counts)
    learner = TableModel.fit(
        table, NAMES, estimator=SABFGS(l2=0.5), columns=ColumnOptions(kind="votes")
    )
    X = learner.transform(features)
    direct = SABFGS(l2=0.5).fit(X[kept], degrees[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(learner.predict(features), direct.predict(X), atol=1e-6)
    joint = TableModel.fit(
        table, NAMES, estimator=DLDL(beta=1.0, gamma=0.5), columns=ColumnOptions(kind="votes")
    )
    np.testing.assert_allclose(joint.predict(features), direct.predict(X), atol=2e-3)
    np.testing.assert_allclose(joint.estimator.label_distributions_[kept], degrees[kept])
    raters = TableModel.fit(
        table[kept], NAMES, estimator=VoteLDL(gamma=0.5), columns=ColumnOptions(kind="votes")
    )
    again = VoteLDL(gamma=0.5).fit(
        raters.transform(features[kept]), counts[kept] > 0, n_raters=weights[kept]
    )
    assert raters.estimator.lambda_ == pytest.approx(again.lambda_, rel=1e-6)
    assert learner.facts["label_kind"] == "votes"
    (message,) = learner.facts["warnings"]
    assert "1 rows without votes" in message
    alike = TableModel.fit(
        table[kept], NAMES, estimator=AAKNN(n_neighbors=3), columns=ColumnOptions(kind="votes")
    )
    assert "takes no sample weights" in alike.facts["warnings"][0]


def test_votes_in_files(tables, tmp_path):
    features, counts = tables
    path = tmp_path / "votes.csv"
    add_columns(features, counts).to_csv(path, index=False)
    model = fit_table(
        str(path), "sky:hill", method="SABFGS", holdout=0.25, columns=ColumnOptions(kind="votes")
    )
    assert type(model.estimator).__name__ == "SABFGS"
    assert [score["name"] for score in model.facts["holdout"]["scores"]][-1] == "intersection"
    found = evaluate_table(
        str(path), model, metrics=["intersection"], columns=ColumnOptions(kind="votes")
    )
    degrees, weights = votes_to_degrees(counts)
    shared = np.minimum(degrees, model.predict(features)).sum(axis=1)
    assert found.scores[0].model == pytest.approx(np.average(shared, weights=weights))
    with pytest.raises(TableError, match=r"first 7; .* use kind='votes'"):
        evaluate_table(str(path), model)
    with pytest.raises(TableError, match="for counts use kind='votes'"):
        fit_table(str(path), "sky:hill")


def test_joint_models_without_degrees_report_that_votes_become_labels(tables):
    features, counts = tables
    model = TableModel.fit(
        add_columns(features, counts),
        NAMES,
        estimator=EnhanceThenLearn(),
        columns=ColumnOptions(kind="votes"),
    )
    assert any(
        "EnhanceThenLearn takes no degrees" in message for message in model.facts["warnings"]
    )


def test_mixed_degrees_and_labels(tables, tmp_path):
    features, counts = tables
    Y, D = (counts > 0).astype(float), votes_to_degrees(counts)[0]
    known = (np.arange(80) % 4 == 0) & (counts.sum(axis=1) > 0)
    mixed = np.where(known[:, None], D, Y)
    mixed[1, 0] = np.nan
    path = tmp_path / "mixed.csv"
    add_columns(features, mixed).to_csv(path, index=False)
    params = {"beta": 1.0, "gamma": 0.3}
    model = fit_table(
        str(path), ",".join(NAMES), params=params, columns=ColumnOptions(kind="mixed")
    )
    X = model.transform(features)
    given_degrees = np.where(
        known[:, None] & ((D > 0) & (D < 1)).any(axis=1, keepdims=True), D, np.nan
    )
    direct = DLDL(**params).fit(
        X, np.where(np.isnan(mixed), np.nan, mixed > 0), degrees=given_degrees
    )
    np.testing.assert_allclose(model.predict(features), direct.predict(X))
    n = int(np.isfinite(given_degrees).all(axis=1).sum())
    message = model.facts["warnings"][0]
    assert f"degrees of {n} rows" in message
    assert f"labels of {80 - n}" in message
    assert evaluate_table(str(path), model, columns=ColumnOptions(kind="mixed")).rows == 80
    with pytest.raises(
        TableError, match=r"is neither 0 nor 1; DLDL .*for degrees of some rows kind='mixed'"
    ):
        fit_table(str(path), ",".join(NAMES))
    with pytest.raises(ParameterError, match="VoteLDL takes no degrees of some rows"):
        fit_table(str(path), ",".join(NAMES), method="VoteLDL", columns=ColumnOptions(kind="mixed"))
    mixed[4] = [0.5, 0.2, 0.1]
    with pytest.raises(TableError, match=r"row 4: .*first 0\.8"):
        TableModel.fit(add_columns(features, mixed), NAMES, columns=ColumnOptions(kind="mixed"))


def test_fractional_votes_are_rejected(tables, tmp_path):
    features, counts = tables
    table = add_columns(features, counts.astype(float))
    table.loc[7, "sea"] = 0.29
    with pytest.raises(
        TableError, match=r"row 7, column 'sea': 0\.29 is no count of votes; .*--kind mixed"
    ):
        TableModel.fit(table, NAMES, estimator=SABFGS(), columns=ColumnOptions(kind="votes"))
    model = TableModel.fit(
        add_columns(features, counts),
        NAMES,
        estimator=AAKNN(n_neighbors=3),
        columns=ColumnOptions(kind="votes"),
    )
    table.to_csv(tmp_path / "votes.csv", index=False)
    with pytest.raises(TableError, match=r"row 9, column 'sea': 0\.29 is no count of votes"):
        evaluate_table(str(tmp_path / "votes.csv"), model, columns=ColumnOptions(kind="votes"))


def test_mixed_kind_without_degrees_is_logical(tables):
    features, counts = tables
    partial = (counts > 0).astype(float)
    partial[3, 1] = np.nan
    params = {"estimator": DLDL(beta=1.0, gamma=0.3)}
    model = TableModel.fit(
        add_columns(features, partial), NAMES, **params, columns=ColumnOptions(kind="mixed")
    )
    assert "degrees of 0 rows" in model.facts["warnings"][0]
    assert "labels of 80" in model.facts["warnings"][0]
    assert model.facts["warnings"][1].startswith("1 of 240 labels are unknown")
    plain = TableModel.fit(add_columns(features, partial), NAMES, **params)
    np.testing.assert_array_equal(model.predict(features), plain.predict(features))


def test_error_suggests_other_kinds_of_labels():
    rows = range(1, 3)
    for table in (((1, 1, 0), (0.5, 0.25, 0.25)), ((2, 1, 0), (0, 3, 1))):
        with pytest.raises(TableError, match=r"kind='votes' .* kind='mixed'"):
            TableLabels(NAMES, np.array(table, dtype=float), rows).check_degrees()
        with pytest.raises(TableError) as refused:
            TableLabels(NAMES, np.array(table, dtype=float), rows).check_degrees(advice="")
        assert "kind=" not in str(refused.value)


def test_invalid_votes_are_rejected():
    with pytest.raises(InputError, match=r"not be negative.* row 1\."):
        votes_to_degrees([[1, 2], [3, -1]])
    with pytest.raises(InputError, match="write 0 where"):
        votes_to_degrees([[1, np.nan]])
    with pytest.raises(InputError, match="sum of all votes is too large"):
        votes_to_degrees([[1e308, 1e308], [1, 0]])
    with pytest.raises(InputError, match="sum of all votes is too large"):
        votes_to_degrees([[1e308, 1], [1, 0]])


@pytest.mark.parametrize(
    "form", ["|", ";", ", ", "\n", "json", "objects", "python", "numpy", "set", "tuple"]
)
def test_label_list_column_is_expanded(tables, form, tmp_path):
    features, counts = tables
    lists = [[name for name, count in zip(NAMES, row, strict=True) if count] for row in counts]
    written = {
        "json": [json.dumps(cell) for cell in lists],
        "objects": lists,
        "python": [str(cell) for cell in lists],
        "numpy": [str(np.array(cell)) for cell in lists],
        "set": [str(set(cell)) for cell in lists],
        "tuple": [str(tuple(np.str_(name) for name in cell)) for cell in lists],
    }
    cells = written.get(form) or [form.join(cell) for cell in lists]
    table = features.assign(tags=cells)
    model = TableModel.fit(table, ["tags"], estimator=DLDL(beta=1.0, gamma=0.5))
    labels = sorted(NAMES)
    plain = TableModel.fit(
        add_columns(features, counts > 0)[[*"abc", *labels]],
        labels,
        estimator=DLDL(beta=1.0, gamma=0.5),
    )
    assert model.labels == tuple(labels)
    np.testing.assert_array_equal(model.predict(features), plain.predict(features))
    save_model(model, tmp_path / "m.ldl")
    loaded = load_table_model(tmp_path / "m.ldl")
    np.testing.assert_array_equal(
        loaded.enhance(table), plain.enhance(add_columns(features, counts > 0))
    )
    with pytest.raises(
        TableError,
        match="row 2, column 'tags': 'moon' is not one of the labels 'hill', 'sea', 'sky'",
    ):
        loaded.enhance(
            table.assign(tags=[["moon"] if i == 2 else cell for i, cell in enumerate(lists)])
        )


def test_label_lists_in_files_with_empty_cells(tables, tmp_path):
    features, counts = tables
    path = tmp_path / "tags.csv"
    cells = ["/".join(n for n, count in zip(NAMES, row, strict=True) if count) for row in counts]
    features.assign(tags=cells).to_csv(path, index=False)
    messages = []
    model = fit_table(
        str(path),
        "tags",
        params={"beta": 1.0},
        columns=ColumnOptions(separator="/", zeros="none"),
        reading=ReadingOptions(on_message=messages.append),
    )
    assert len(messages) == 1
    for term in (f"{path}: ", "column 'tags'", "lists of labels", "'/'", "'hill', 'sea', 'sky'"):
        assert term in messages[0]
    assert model.labels == ("hill", "sea", "sky")
    assert evaluate_table(str(path), model).rows == 80
    cells[7] = ""
    features.assign(tags=cells).to_csv(path, index=False)
    with pytest.raises(TableError, match="row 9: no label is 1"):
        fit_table(
            str(path),
            "tags",
            columns=ColumnOptions(separator="/"),
            reading=ReadingOptions(on_message=messages.append),
        )
    assert (
        messages[1:] == messages[:1]
    )  # the interpretation of lists is reported before a fit can fail


def test_lists_that_cannot_be_parsed_are_rejected(tables, tmp_path):
    """A model fitted on lists as pandas writes them; in each new table one cell is malformed."""
    features, counts = tables
    lists = [[name for name, count in zip(NAMES, row, strict=True) if count] for row in counts]
    table = features.assign(tags=lists)
    path = tmp_path / "tags.csv"
    table.to_csv(path, index=False)
    messages = []
    model = fit_table(
        str(path),
        "tags",
        params={"beta": 1.0, "gamma": 0.5},
        holdout=0,
        reading=ReadingOptions(on_message=messages.append),
    )
    assert model.labels == ("hill", "sea", "sky")
    assert "separated" not in messages[0]
    assert evaluate_table(str(path), model).rows == 80
    for cell in (
        "['sky', 'sea'",
        "[sky]",
        "['sky', ...]",
        "'sky'",
        "sky'",
        'sky"',
        "{sky}",
        "(sky",
    ):
        with pytest.raises(
            TableError, match=r"row 7, column 'tags': .* bracket or a lone quote; write lists as"
        ):
            model.enhance(
                table.assign(tags=[cell if i == 7 else str(names) for i, names in enumerate(lists)])
            )


def test_prose_is_not_a_label_list(tables):
    features, _ = tables
    table = features.assign(note=[f"note {i}" for i in range(80)])
    with pytest.raises(TableError, match="80 different labels in 80 rows look like texts"):
        TableModel.fit(table, ["note"])
    with pytest.raises(TableError, match="separator is for one label column of texts"):
        TableModel.fit(table, ["a"], columns=ColumnOptions(separator="|"))


@pytest.mark.parametrize("form", ["{:.2f}", "{:.3f}", "comma", "{:.0%}", "{:.1%}"])
def test_degrees_in_percent_and_rounded_degrees(tables, form, tmp_path):
    features, counts = tables
    D = (counts + 1) / (counts + 1).sum(axis=1, keepdims=True)
    written = {"comma": lambda x: f"{x:.2f}".replace(".", ",")}.get(form, form.format)
    degrees = pd.DataFrame([[written(x) for x in row] for row in D], columns=NAMES)
    model = TableModel.fit(features.join(degrees), NAMES, estimator=SABFGS())
    np.testing.assert_allclose(model.facts["mean_distribution"], D.mean(axis=0), atol=5e-3)
    features.join(degrees).to_csv(tmp_path / "x.csv", index=False)
    np.testing.assert_allclose(prepare_table(str(tmp_path / "x.csv"), NAMES).D, D, atol=2e-2)


def test_invalid_degrees_are_not_rescaled(tables):
    features, _ = tables
    for row, message in (
        ([0.5, 0.45, 0.0], "sum to 1, first 0.95"),
        ([1.0, 1.0, 0.0], "sum to 1, first 2"),
        ([1.05, 0.0, -0.05], "negative"),
    ):
        invalid = features.join(
            pd.DataFrame([[0.33, 0.33, 0.33], row] * (len(features) // 2), columns=NAMES)
        )
        with pytest.raises(TableError, match=message):
            TableModel.fit(invalid, NAMES, estimator=SABFGS())
    shares = features.join(pd.DataFrame([[30, 30, 40]] * len(features), columns=NAMES))
    with pytest.raises(TableError, match="divide percentages by 100"):
        TableModel.fit(shares, NAMES, estimator=SABFGS())
