"""The commands for tables: fit, enhance, predict, evaluate, inspect, on every format and through
pipes."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from functools import cache

import fork_server
import numpy as np
import pandas as pd
import pytest
from example_tables import LABELS, make_table
from sklearn.metrics import label_ranking_average_precision_score

import ldlearn
from ldlearn import DLDL, EnhanceThenLearn
from ldlearn.metrics import score_all
from ldlearn.tables import ColumnOptions, TableModel, load_model

FIT = ("fit", "data.csv", "-l", "sky,mountain,sea", "--id", "key")
QUICK = (
    "--set",
    "beta=10",
    "--set",
    "gamma=1",
    "--holdout",
    "0",
)  # skips model selection and the held-out check, which are slow


def to_npz(table: pd.DataFrame, name: str) -> None:
    np.savez(
        name,
        **{
            c: table[c].fillna("").to_numpy(str) if table[c].dtype == object else table[c]
            for c in table
        },
    )


WRITERS = {
    "csv": lambda table, name: table.to_csv(name, index=False),
    "tsv": lambda table, name: table.to_csv(name, index=False, sep="\t"),
    "jsonl": lambda table, name: table.to_json(
        name, orient="records", lines=True, double_precision=15
    ),
    "parquet": lambda table, name: table.to_parquet(name),
    "npz": lambda table, name: to_npz(table.astype({"key": object, "place": object}), name),
}


def read_npz(name: str) -> pd.DataFrame:
    with np.load(name) as arrays:
        table = pd.DataFrame(arrays["D"], columns=arrays["label_names"])
        table.insert(0, "key", arrays["key"])
        return table


READERS = {
    "csv": pd.read_csv,
    "tsv": lambda name: pd.read_csv(name, sep="\t"),
    "jsonl": lambda name: pd.read_json(name, lines=True),
    "parquet": pd.read_parquet,
    "npz": read_npz,
}


def expected(n: int = 80) -> pd.DataFrame:
    """Predictions in Python for the table of the command line."""
    return model_in_python().predict(make_table(n))


@cache
def model_in_python() -> TableModel:
    return TableModel.fit(
        make_table(), LABELS, columns=ColumnOptions(features=["height", "wet", "place"])
    )


@pytest.mark.parametrize("format", WRITERS)
def test_every_format_in_and_out(format, model, run):
    WRITERS[format](make_table(), f"new.{format}")
    result = run("predict", f"new.{format}", "-m", model, "-o", f"out.{format}")
    assert (result.code, result.err) == (0, "")
    assert result.out == f"80 rows: out.{format}\n"
    found = READERS[format](f"out.{format}")
    assert list(found.columns) == ["key", *LABELS]
    assert list(found["key"]) == list(make_table()["key"])
    np.testing.assert_allclose(found[LABELS], expected(), atol=1e-9)


@pytest.mark.parametrize("format", WRITERS)
def test_every_format_through_pipes(format, model, run):
    WRITERS[format](make_table(), "new")
    name = "new.npz" if format == "npz" else "new"
    with open(name, "rb") as file:
        content = file.read()
    # capfd decodes its output, so that binary output goes to a file here and through a real pipe in
    # other tests
    result = run("predict", "-", "-m", model, "--from", format, "-o", "out.csv", stdin=content)
    assert result.code == 0, result.err
    np.testing.assert_allclose(pd.read_csv("out.csv")[LABELS], expected(), atol=1e-9)


def test_predict_writes_text_to_standard_output(model, run):
    for to, read in (("csv", pd.read_csv), ("jsonl", lambda f: pd.read_json(f, lines=True))):
        result = run("predict", "data.csv", "-m", model, "--to", to)
        with open("piped", "w") as file:
            file.write(result.out)
        np.testing.assert_allclose(read("piped")[LABELS], expected(), atol=1e-9)


def test_parquet_through_a_real_pipe(model):
    arguments = [*fork_server.command(), "predict", "data.csv", "-m", model, "--to", "parquet"]
    with open("out.parquet", "wb") as file:
        subprocess.run(arguments, stdout=file, check=True)
    np.testing.assert_allclose(pd.read_parquet("out.parquet")[LABELS], expected(), atol=1e-12)


def test_command_line_and_python_fit_the_same_model(model):
    found = load_model(model)
    assert isinstance(found.estimator, DLDL)
    assert (found.numeric, found.categorical, found.id) == (("height", "wet"), ("place",), "key")
    np.testing.assert_array_equal(found.predict(make_table()), expected())


def test_columns_are_matched_by_name_and_others_ignored(model, run):
    table = make_table()
    table = table[["sea", "wet", "place", "height", "key"]].assign(colour="red", smell=1)
    table.to_csv("new.csv", index=False)
    result = run("predict", "new.csv", "-m", model, "-o", "out.csv")
    assert result.code == 0
    assert result.err == ""
    np.testing.assert_allclose(pd.read_csv("out.csv")[LABELS], expected(), atol=1e-12)


def test_identifier_column_is_optional_and_can_be_changed(model, run):
    make_table().drop(columns="key").assign(name=range(80)).to_csv("new.csv", index=False)
    run("predict", "new.csv", "-m", model, "-o", "plain.csv")
    assert list(pd.read_csv("plain.csv").columns) == LABELS
    run("predict", "new.csv", "-m", model, "--id", "name", "-o", "named.csv")
    assert pd.read_csv("named.csv")["name"].tolist() == list(range(80))


def test_empty_table_gives_empty_output(model, run):
    make_table()[:0].to_csv("new.csv", index=False)
    for format in ("csv", "jsonl", "parquet", "npz"):
        assert run("predict", "new.csv", "-m", model, "-o", f"out.{format}").code == 0
    assert list(pd.read_csv("out.csv").columns) == ["key", *LABELS]
    assert len(pd.read_parquet("out.parquet")) == 0


def test_missing_and_unseen_values_are_predicted(model, run):
    new = pd.DataFrame({"height": [None, 0.5], "wet": [1.0, None], "place": [None, "moon"]})
    new.to_csv("new.csv", index=False)
    done = run("predict", "new.csv", "-m", model, "-o", "out.csv")
    assert done.code == 0
    assert "'place': 1 cell counts as a category not seen in training: row 3 'moon'" in done.message
    found = pd.read_csv("out.csv")[LABELS]
    np.testing.assert_allclose(found.sum(axis=1), 1)
    filled = make_table()
    usual = pd.DataFrame(
        {"height": [filled["height"].median(), 0.5], "wet": [1.0, filled["wet"].median()]}
    )
    usual["place"] = [filled["place"].mode()[0], "another moon"]
    np.testing.assert_allclose(found, load_model(model).predict(usual), atol=1e-12)


@pytest.mark.parametrize(
    ("features", "numbers"),
    [
        ("wet", ("wet",)),
        ("h*", ("height",)),
        ("height:wet", ("height", "wet")),
        ("1:2", ("height", "wet")),
    ],
)
def test_features_by_name_prefix_and_range(features, numbers, workspace, run):
    assert run(*FIT, "--features", features, "-o", "m.ldl", "--holdout", "0").code == 0
    assert load_model("m.ldl").features == numbers


def test_codes_can_be_declared_categorical(workspace, run):
    make_table().assign(zone=np.arange(80) % 4 + 1).to_csv("data.csv", index=False)
    assert run(*FIT, "--categorical", "zone", "-o", "m.ldl", *QUICK).code == 0
    found = load_model("m.ldl")
    assert found.categorical == ("place", "zone")
    # an integer of another format is the same category
    make_table().assign(zone=np.arange(80) % 4 + 1).to_parquet("new.parquet")
    run("predict", "new.parquet", "-m", "m.ldl", "-o", "a.csv")
    run("predict", "data.csv", "-m", "m.ldl", "-o", "b.csv")
    np.testing.assert_allclose(
        pd.read_csv("a.csv")[LABELS], pd.read_csv("b.csv")[LABELS], atol=1e-12
    )


def test_methods_and_settings(workspace, run):
    cases = {
        ("--set", "alpha=0.1", "--set", "n_neighbors=5", "--set", "init=pseudo"): "DLDL",
        ("--method", "priorle"): "PriorLE+SABFGS",
        ("--method", "SABFGS", "--set", "l2=0.5"): "UniformLE+SABFGS",
        ("--method", "PriorLE+SABFGS", "--set", "learner__fit_intercept=false"): "PriorLE+SABFGS",
    }
    for arguments, method in cases.items():
        result = run(*FIT, *arguments, "-o", "m.ldl", "--json")
        assert result.code == 0, result.err
        assert json.loads(result.out)["method"] == method
    assert load_model("m.ldl").estimator.learner_.fit_intercept is False
    assert run("enhance", "data.csv", "-m", "m.ldl").message.startswith(
        "ldlearn: m.ldl: EnhanceThenLearn gives degrees"
    )


def test_learner_fits_degrees(workspace, run):
    degrees = make_table()
    degrees[LABELS] = degrees[LABELS].div(degrees[LABELS].sum(axis=1), axis=0)
    degrees.to_csv("data.csv", index=False)
    result = run(*FIT, "--method", "SABFGS", "-o", "m.ldl", "--json")
    known = json.loads(result.out)
    assert known["method"] == "SABFGS"
    assert known["data"]["label_kind"] == "degrees"
    assert [score["name"] for score in known["holdout"]["scores"]][-1] == "intersection"


def test_labels_may_be_words_or_booleans(workspace, run):
    table = make_table()
    worded = table.assign(**{name: table[name].map({0: "no", 1: "yes"}) for name in LABELS})
    worded.to_csv("words.csv", index=False)
    table.astype(dict.fromkeys(LABELS, bool)).to_parquet("truths.parquet")
    for name in ("words.csv", "truths.parquet", "data.csv"):
        run("fit", name, *FIT[2:], "-o", f"{name}.ldl", *QUICK)
    found = [
        load_model(f"{name}.ldl").estimator.coef_
        for name in ("words.csv", "truths.parquet", "data.csv")
    ]
    np.testing.assert_allclose(found[0], found[2], atol=1e-12)
    np.testing.assert_allclose(found[1], found[2], atol=1e-12)


def test_enhance_by_model_and_by_method(model, run):
    assert run("enhance", "data.csv", "-m", model, "-o", "degrees.csv").code == 0
    found = pd.read_csv("degrees.csv")[LABELS].to_numpy()
    Y = make_table()[LABELS].to_numpy()
    assert (found[Y == 0] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found, load_model(model).enhance(make_table()), atol=1e-12)
    run(
        "enhance",
        "data.csv",
        "-l",
        "sky,mountain,sea",
        "--method",
        "PriorLE",
        "--id",
        "key",
        "-o",
        "prior.csv",
    )
    prior = (Y / Y.sum(axis=1, keepdims=True)).mean(axis=0)
    expected_prior = Y * prior / (Y * prior).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pd.read_csv("prior.csv")[LABELS], expected_prior)


def test_evaluate_against_labels_and_against_degrees(model, run):
    result = json.loads(run("evaluate", "data.csv", "-m", model, "--json").out)
    Y, P = make_table()[LABELS].to_numpy(), expected().to_numpy()
    by_name = {score["name"]: score for score in result["scores"]}
    assert by_name["average_precision"]["model"] == pytest.approx(
        label_ranking_average_precision_score(Y, P)
    )
    assert by_name["positive_mass"]["uniform"] == pytest.approx(Y.mean())
    truth = expected().to_numpy() * 0.9 + 0.1 / 3
    make_table().assign(**dict(zip(LABELS, truth.T, strict=True))).to_csv("truth.csv", index=False)
    result = json.loads(run("evaluate", "truth.csv", "-m", model, "--json", "--metrics", "all").out)
    wanted = score_all(truth, P)
    found = {score["name"]: score["model"] for score in result["scores"]}
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)
    printed = run("evaluate", "truth.csv", "-m", model)
    assert "Intersection ↑" in printed.out
    assert "uniform" in printed.out


def test_uninformative_model_triggers_a_warning(workspace, run):
    rng = np.random.default_rng(5)
    Y = rng.random((200, 3)) < [0.3, 0.6, 0.5]
    Y[~Y.any(axis=1), 1] = True
    noise = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd")).assign(
        flat=1.0, empty=np.nan
    )
    noise = pd.concat([noise, pd.DataFrame(Y.astype(int), columns=LABELS).assign(never=0)], axis=1)
    pd.concat([noise, noise[:40]]).to_csv("noise.csv", index=False)
    result = run("fit", "noise.csv", "-l", "sky:never", "-o", "m.ldl", "--set", "gamma=50")
    assert result.code == 0
    for warning in (
        "Uninformative features",
        "Labels never seen (positive in no row, so their degrees mean nothing): 'never'",
        "Columns left out (no value in any row): 'empty'",
        "Columns left out (the same value in every row): 'flat'",
    ):
        assert warning in result.message
    assert run("evaluate", "noise.csv", "-m", "m.ldl").code == 0
    card = run("inspect", "m.ldl", "--html", "card.html")
    assert "Uninformative features" in card.message
    with open("card.html") as file:
        page = file.read()
    assert "Differences between rows are not reliable" in page
    assert "no better" in page


def test_inspect_and_the_model_card(model, run):
    result = run("inspect", model, "--html", "card.html")
    assert result.code == 0, result.err
    for part in (
        "DLDL",
        "80",
        "sky (",
        "certified gap",
        "increase sea",
        "place_coast",
        "Average precision ↑",
    ):
        assert part in result.out
    with open("card.html") as file:
        page = file.read()
    parts = (
        "Model card",
        "Hyperparameters selected by the 0/1 labels",
        "Certified gap",
        "beta_",
        "Warnings",
        "place_island",
        "median",
    )
    for part in parts:
        assert part in page
    assert "http" not in page.replace("http-equiv", "")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1].split(
        "; "
    )
    assert {"default-src 'none'", "base-uri 'none'", "form-action 'none'"} <= set(policy)
    assert "script-src" not in page
    for part in (
        "<main>",
        'scope="col"',
        'scope="row"',
        'tabindex="0"',
        "prefers-color-scheme: dark",
        'role="img"',
    ):
        assert part in page
    known = json.loads(run("inspect", model, "--json").out)
    assert known["certified_gap"]["per_row"] < 1e-5
    assert "beta=" in known["selection_summary"]
    assert known["selection_summary"] in page
    assert known["features"] == {"numbers": ["height", "wet"], "texts": ["place"]}
    assert known["columns"] == {"height": "numeric", "wet": "numeric", "place": "categorical"}
    source = known["source"]
    with open("data.csv", "rb") as file:
        assert source["sha256"] == hashlib.sha256(file.read()).hexdigest()
    assert source["file"] == "data.csv"
    for part in (
        source["sha256"],
        source["date"],
        f"ldlearn {ldlearn.__version__}",
        "categorical (1)",
    ):
        assert part in page
    for label, spread in known["degrees"].items():
        assert f"{label}: mean degree {spread['mean']:#.4g}" in page
        assert sorted(spread["quartiles"]) == spread["quartiles"]


def test_names_are_escaped_in_the_model_card(workspace, run):
    malicious_name = "<script>alert(1)</script>"
    make_table().rename(columns={"sky": malicious_name, "wet": "<b>wet"}).to_csv(
        "data.csv", index=False
    )
    assert (
        run(
            "fit", "data.csv", "-l", f"{malicious_name},mountain,sea", "--id", "key", "-o", "m.ldl"
        ).code
        == 0
    )
    run("inspect", "m.ldl", "--html", "card.html")
    with open("card.html") as file:
        page = file.read()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert "<b>" not in page


def test_control_characters_in_names_are_escaped_on_the_terminal(workspace, run):
    malicious_name = "sky\x1b[31m\x07[red]"
    make_table().rename(columns={"sky": malicious_name}).to_csv("data.csv", index=False)
    fitted = run(
        "fit", "data.csv", "-l", f"{malicious_name},mountain,sea", "--id", "key", "-o", "m.ldl"
    )
    printed = run("inspect", "m.ldl")
    refused = run("predict", "data.csv", "-m", "m.ldl", "--id", malicious_name)
    assert (fitted.code, printed.code, refused.code) == (0, 0, 2)
    for result in (fitted, printed, refused):
        assert "\x1b" not in result.out + result.err
        assert "\x07" not in result.out + result.err
    assert r"sky\x1b[31m\x07[red] (" in printed.out


def test_single_label(workspace, run):
    make_table().assign(sky=1).to_csv("data.csv", index=False)
    fitted = run("fit", "data.csv", "-l", "sky", "--features", "height,wet", "-o", "m.ldl")
    evaluated = run("evaluate", "data.csv", "-m", "m.ldl")
    assert (fitted.code, evaluated.code) == (0, 0), fitted.err + evaluated.err


def test_two_step_method_by_name(workspace, run):
    run(*FIT, "--method", "UniformLE+SABFGS", "-o", "m.ldl", "--holdout", "0")
    found = load_model("m.ldl")
    table = make_table()
    by_hand = TableModel.fit(
        table,
        LABELS,
        estimator=EnhanceThenLearn(),
        columns=ColumnOptions(features=["height", "wet", "place"]),
    )
    np.testing.assert_array_equal(found.predict(table), by_hand.predict(table))


def test_columns_of_every_parquet_type(model, run):
    """Decimals, dictionaries, nullable integers and booleans, strings of polars, a stored index."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = make_table()
    wet = [None if np.isnan(value) else round(value, 3) for value in table["wet"]]
    columns = {
        "height": pa.array(table["height"], pa.float32()),
        "wet": pa.array([None if value is None else f"{value:.3f}" for value in wet]).cast(
            pa.decimal128(10, 3)
        ),
        "place": pa.array(table["place"].where(table["place"].notna(), None)).dictionary_encode(),
        "sky": pa.array(table["sky"] == 1),
        "mountain": pa.array(table["mountain"], pa.int8()),
        "sea": pa.array(table["sea"], pa.uint64()),
    }
    pq.write_table(pa.table(columns), "typed.parquet")
    rounded = table.assign(height=table["height"].astype("float32"), wet=wet)
    assert run("predict", "typed.parquet", "-m", model, "-o", "typed.csv").code == 0
    np.testing.assert_allclose(
        pd.read_csv("typed.csv")[LABELS], load_model(model).predict(rounded), atol=1e-9
    )
    assert run("fit", "typed.parquet", "-l", "sky,mountain,sea", "-o", "m.ldl", *QUICK).code == 0
    assert load_model("m.ldl").features == ("height", "wet", "place")
    pl.from_pandas(table).write_parquet("polars.parquet")
    table.set_index("wet").to_parquet("indexed.parquet")
    for name in ("polars", "indexed"):
        result = run("predict", f"{name}.parquet", "-m", model, "-o", "out.csv")
        assert result.code == 0, result.err
        np.testing.assert_allclose(pd.read_csv("out.csv")[LABELS], expected(), atol=1e-9)


def test_json_lines_of_numbers_texts_and_nulls(workspace, run):
    table = make_table()
    table.to_json("data.jsonl", orient="records", lines=True, double_precision=15)
    run("fit", "data.jsonl", *FIT[2:], "-o", "json.ldl", *QUICK)
    run(*FIT, "-o", "csv.ldl", *QUICK)
    from_json, from_csv = load_model("json.ldl"), load_model("csv.ldl")
    assert from_json.categorical == from_csv.categorical == ("place",)
    np.testing.assert_allclose(from_json.predict(table), from_csv.predict(table), atol=1e-9)
    huge = b'{"x": 1' + b"0" * 400 + b', "a": 1, "b": 0}\n{"x": 2, "a": 1, "b": 1}\n'
    result = run("fit", "-", "--from", "jsonl", "-l", "a,b", "-o", "m.ldl", stdin=huge)
    assert result.code == 2, result.err
    assert "Traceback" not in result.err


def test_npz_through_a_real_pipe(model):
    arguments = [*fork_server.command(), "predict", "data.csv", "-m", model, "--to", "npz"]
    with open("out.npz", "wb") as file:
        file.write(subprocess.run(arguments, stdout=subprocess.PIPE, check=True).stdout)
    np.testing.assert_allclose(read_npz("out.npz")[LABELS], expected(), atol=1e-12)
