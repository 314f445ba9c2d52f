"""Prediction in constant memory: the benchmark at a small size."""

from __future__ import annotations

import io
import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest
from example_tables import LABELS, make_table

from ldlearn.tables import load_model
from ldlearn.tables.files import TableInput
from ldlearn.tables.formats import open_table
from ldlearn.tables.source import CHUNK_ROWS

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "stream_predict.py"


@pytest.mark.skipif(
    not BENCHMARK.exists(), reason="the benchmarks are not part of this copy of the project"
)
def test_memory_does_not_grow_with_the_table(monkeypatch, capsys):
    # The peak varies by up to 36 MB for any size (Arrow 17: until about 150 MB are read); storing
    # all rows by mistake would cost 70 MB.
    sizes = ("50", "200") if int(pyarrow.__version__.split(".")[0]) > 17 else ("150", "400")
    monkeypatch.setattr(sys, "argv", [str(BENCHMARK), "--megabytes", *sizes])
    runpy.run_path(str(BENCHMARK), run_name="__main__")
    small, large, summary = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert large["megabytes"] > 1.9 * small["megabytes"]
    assert summary["growth_megabytes"] < 50, (
        "150 MB more of table must not cost 50 MB more of memory"
    )


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "npz"])
def test_prediction_in_chunks_equals_prediction_at_once(format, model, run):
    """Including missing values and quoted line breaks at the boundaries of chunks."""
    n = 2 * CHUNK_ROWS + 7
    table = pd.concat([make_table()] * (n // 80 + 1), ignore_index=True)[:n]
    table["height"] = np.random.default_rng(0).normal(size=n)
    table["key"] = [f'row "{i}",\nsecond line' for i in range(n)]
    if format == "csv":
        table.to_csv("new.csv", index=False)
    elif format == "jsonl":
        table.to_json("new.jsonl", orient="records", lines=True, double_precision=15)
    elif format == "parquet":
        table.to_parquet("new.parquet", row_group_size=1000)
    else:
        texts = {name: table[name].fillna("").to_numpy(str) for name in ("key", "place")}
        np.savez("new.npz", **texts, height=table["height"].to_numpy(), wet=table["wet"].to_numpy())
    result = run("predict", f"new.{format}", "-m", model, "-o", "out.csv")
    assert result.code == 0, result.err
    found = pd.read_csv("out.csv")
    assert found["key"].tolist() == table["key"].tolist()
    np.testing.assert_allclose(found[LABELS], load_model(model).predict(table), atol=1e-9)


def test_row_number_of_an_error_counts_all_chunks(model, run):
    n = CHUNK_ROWS + 500
    table = pd.concat([make_table()] * (n // 80 + 1), ignore_index=True)[:n].astype(object)
    table.loc[n - 3, "height"] = 1e200
    for format in ("csv", "jsonl"):
        if format == "csv":
            table.to_csv("new.csv", index=False)
        else:
            table.to_json("new.jsonl", orient="records", lines=True)
        result = run("predict", f"new.{format}", "-m", model, "-o", "out.csv")
        row = n - 2 + (format == "csv")  # the header is row 1
        assert f"new.{format}, row {row}, column 'height': 1e+200 is too large" in result.message


def test_pipes_are_read_incrementally(monkeypatch):
    """The first rows are available before the last rows are read."""

    class SlowStream(io.RawIOBase):
        def __init__(self):
            self.sent = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            block = b"x,y\n" if not self.sent else b"1.25,2.5\n" * 1000
            block = block[: len(buffer)]
            buffer[: len(block)] = block
            self.sent += len(block)
            return len(block) if self.sent < 200_000_000 else 0

    slow = SlowStream()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(slow, 9000)))
    with open_table(TableInput("-")) as source:
        first = next(source.chunks({"y": "any"}))
    assert (first["y"].head(3) == 2.5).all()
    assert slow.sent < 5_000_000
