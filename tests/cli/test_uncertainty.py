"""--interval and --flag-far: columns of uncertainty."""

import numpy as np
import pandas as pd
import pytest

from ldlearn.tables import load_table_model, predict_table

LABELS = ["sky", "mountain", "sea"]
ENDS = [f"{label}_{end}" for label in LABELS for end in ("low", "high")]


def held(table):
    return all(
        (table[f"{name}_low"] <= table[name] + 1e-9).all() and (table[name] <= table[f"{name}_high"] + 1e-9).all()
        for name in LABELS
    )


@pytest.mark.parametrize("format", ["csv", "parquet", "jsonl", "npz"])
@pytest.mark.parametrize("verb", ["predict", "enhance"])
def test_intervals_and_a_flag_in_every_kind_of_file(run, model, verb, format):
    words = [verb, "data.csv", "-m", model, "--interval", "0.9", "--flag-far", "-o", f"out.{format}"]
    assert run(*words).code == 0
    if format == "npz":
        return  # matrices of numbers: that it is written is enough
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lambda p: pd.read_json(p, lines=True)}[format]
    table = read(f"out.{format}")
    assert list(table.columns) == ["key", *LABELS, *ENDS, "far"]
    assert held(table)
    assert set(table["far"]) <= {0, 1}
    assert (table["sky_high"] - table["sky_low"]).max() > 0.05


@pytest.mark.parametrize("verb", ["predict", "enhance"])
def test_who_tells_the_number_of_raters_gets_other_intervals(run, model, verb):
    words = [verb, "data.csv", "-m", model, "--interval", "0.9"]
    assert run(*words, "-o", "average.csv").code == 0
    assert run(*words, "--raters", "30", "-o", "row.csv").code == 0
    average, row = (pd.read_csv(name) for name in ("average.csv", "row.csv"))
    assert held(row)
    assert ((row["sky_high"] - row["sky_low"]) - (average["sky_high"] - average["sky_low"])).abs().max() > 0.01
    alone = run(verb, "data.csv", "-m", model, "--raters", "30")
    assert alone.code == 2
    assert "raters only affect intervals" in " ".join(alone.err.split())


def test_rounded_degrees_still_sum_to_one(run, model):
    assert run("predict", "data.csv", "-m", model, "--interval", "0.8", "--round", "2", "-o", "out.csv").code == 0
    table = pd.read_csv("out.csv")
    np.testing.assert_allclose(table[LABELS].sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(table[ENDS], table[ENDS].round(2), atol=1e-12)


def test_rows_unlike_those_of_the_fit_are_flagged(model):
    table = pd.read_csv("data.csv")
    table[load_table_model(model).numeric[0]] = 1e4
    table.to_csv("strange.csv", index=False)
    predict_table("strange.csv", model, "out.csv", flag_far=True)
    assert (pd.read_csv("out.csv")["far"] == 1).all()


def test_a_method_fitted_on_the_rows_says_it_too(run, here):
    words = ["enhance", "data.csv", "-l", ",".join(LABELS), "--id", "key", "--interval", "0.9", "-o", "out.csv"]
    assert run(*words).code == 0
    assert held(pd.read_csv("out.csv"))
    refused = run(*words, "--method", "PriorLE")
    assert refused.code == 2
    assert "PriorLE gives no intervals" in " ".join(refused.err.split())


def test_a_table_without_rows_has_the_columns(run, model):
    pd.read_csv("data.csv")[:0].to_csv("none.csv", index=False)
    assert run("predict", "none.csv", "-m", model, "--interval", "0.9", "-o", "out.csv").code == 0
    assert list(pd.read_csv("out.csv").columns) == ["key", *LABELS, *ENDS]


def test_what_is_no_share_and_names_that_clash_are_refused_before_any_work(run, model):
    wrong = run("predict", "data.csv", "-m", model, "--interval", "90", "-o", "out.csv")
    assert wrong.code == 2
    assert "above 0 and below 1, for example 0.9" in " ".join(wrong.err.split())
    table = pd.read_csv("data.csv").rename(columns={"sea": "sky_low"})
    table.to_csv("named.csv", index=False)
    clash = run("enhance", "named.csv", "-l", "sky,mountain,sky_low", "--id", "key", "--interval", "0.9", "-o", "o.csv")
    assert clash.code == 2
    assert "sky_low" in clash.err


def test_only_a_model_fitted_with_intervals_gives_them(run, here):
    words = ["fit", "data.csv", "-l", ",".join(LABELS), "--id", "key", "-o", "m.ldl"]
    predict = ["predict", "data.csv", "-m", "m.ldl", "--interval", "0.9", "-o", "out.csv"]
    assert run(*words).code == 0
    refused = run(*predict)
    assert refused.code == 2
    assert "--intervals" in refused.message
    assert "gives no intervals" in run(*words, "--intervals", "--method", "PriorLE+SABFGS").message
    assert run(*words, "--intervals").code == 0
    assert run(*predict).code == 0
    assert held(pd.read_csv("out.csv"))
