"""The options --interval and --flag-far."""

import numpy as np
import pandas as pd
import pytest

from ldlearn.tables import WritingOptions, load_table_model, predict_table

LABELS = ["sky", "mountain", "sea"]
BOUND_COLUMNS = [f"{label}_{end}" for label in LABELS for end in ("low", "high")]


def within_bounds(table):
    return all(
        (table[f"{name}_low"] <= table[name] + 1e-9).all()
        and (table[name] <= table[f"{name}_high"] + 1e-9).all()
        for name in LABELS
    )


@pytest.mark.parametrize("format", ["csv", "parquet", "jsonl", "npz"])
@pytest.mark.parametrize("verb", ["predict", "enhance"])
def test_interval_and_flag_columns_in_every_format(run, model, verb, format):
    arguments = [
        verb,
        "data.csv",
        "-m",
        model,
        "--interval",
        "0.9",
        "--flag-far",
        "-o",
        f"out.{format}",
    ]
    assert run(*arguments).code == 0
    if format == "npz":
        return  # numeric matrices without names: only existence is checked
    read = {
        "csv": pd.read_csv,
        "parquet": pd.read_parquet,
        "jsonl": lambda p: pd.read_json(p, lines=True),
    }[format]
    table = read(f"out.{format}")
    assert list(table.columns) == ["key", *LABELS, *BOUND_COLUMNS, "far"]
    assert within_bounds(table)
    assert set(table["far"]) <= {0, 1}
    assert (table["sky_high"] - table["sky_low"]).max() > 0.05


@pytest.mark.parametrize("verb", ["predict", "enhance"])
def test_raters_option_changes_intervals(run, model, verb):
    arguments = [verb, "data.csv", "-m", model, "--interval", "0.9"]
    result = run(*arguments, "-o", "average.csv")
    assert result.code == 0
    assert result.message.count("may be too narrow") == (
        verb == "predict"
    )  # these labels are no votes
    assert run(*arguments, "--raters", "30", "-o", "row.csv").code == 0
    average, row = (pd.read_csv(name) for name in ("average.csv", "row.csv"))
    assert within_bounds(row)
    assert (
        (row["sky_high"] - row["sky_low"]) - (average["sky_high"] - average["sky_low"])
    ).abs().max() > 0.01
    alone = run(verb, "data.csv", "-m", model, "--raters", "30")
    assert alone.code == 2
    assert "raters only affect intervals" in " ".join(alone.err.split())


def test_rounded_degrees_still_sum_to_one(run, model):
    assert (
        run(
            "predict", "data.csv", "-m", model, "--interval", "0.8", "--round", "2", "-o", "out.csv"
        ).code
        == 0
    )
    table = pd.read_csv("out.csv")
    np.testing.assert_allclose(table[LABELS].sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(table[BOUND_COLUMNS], table[BOUND_COLUMNS].round(2), atol=1e-12)


def test_rows_far_from_training_are_flagged(model):
    table = pd.read_csv("data.csv")
    table[load_table_model(model).numeric[0]] = 1e4
    table.to_csv("strange.csv", index=False)
    predict_table("strange.csv", model, "out.csv", writing=WritingOptions(flag_far=True))
    assert (pd.read_csv("out.csv")["far"] == 1).all()


def test_enhance_by_method_writes_intervals(run, workspace):
    arguments = [
        "enhance",
        "data.csv",
        "-l",
        ",".join(LABELS),
        "--id",
        "key",
        "--interval",
        "0.9",
        "-o",
        "out.csv",
    ]
    assert run(*arguments).code == 0
    assert within_bounds(pd.read_csv("out.csv"))
    refused = run(*arguments, "--method", "PriorLE")
    assert refused.code == 2
    assert "PriorLE gives no intervals" in " ".join(refused.err.split())


def test_empty_table_has_interval_columns(run, model):
    pd.read_csv("data.csv")[:0].to_csv("none.csv", index=False)
    assert run("predict", "none.csv", "-m", model, "--interval", "0.9", "-o", "out.csv").code == 0
    assert list(pd.read_csv("out.csv").columns) == ["key", *LABELS, *BOUND_COLUMNS]


def test_invalid_coverage_and_name_clashes_are_rejected_early(run, model):
    wrong = run("predict", "data.csv", "-m", model, "--interval", "90", "-o", "out.csv")
    assert wrong.code == 2
    assert "above 0 and below 1, for example 0.9" in " ".join(wrong.err.split())
    table = pd.read_csv("data.csv").rename(columns={"sea": "sky_low"})
    table.to_csv("named.csv", index=False)
    clash = run(
        "enhance",
        "named.csv",
        "-l",
        "sky,mountain,sky_low",
        "--id",
        "key",
        "--interval",
        "0.9",
        "-o",
        "o.csv",
    )
    assert clash.code == 2
    assert "sky_low" in clash.err


def test_intervals_require_a_model_saved_with_intervals(run, workspace):
    arguments = ["fit", "data.csv", "-l", ",".join(LABELS), "--id", "key", "-o", "m.ldl"]
    predict = ["predict", "data.csv", "-m", "m.ldl", "--interval", "0.9", "-o", "out.csv"]
    assert run(*arguments).code == 0
    refused = run(*predict)
    assert refused.code == 2
    assert "--intervals" in refused.message
    assert (
        "gives no intervals" in run(*arguments, "--intervals", "--method", "PriorLE+SABFGS").message
    )
    assert run(*arguments, "--intervals").code == 0
    assert run(*predict).code == 0
    assert within_bounds(pd.read_csv("out.csv"))
