"""The functions behind the commands, called from Python."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from example_tables import LABELS, make_table

from ldlearn.exceptions import ParameterError
from ldlearn.tables import (
    ColumnOptions,
    ReadingOptions,
    TableModel,
    compare_tables,
    describe_file,
    enhance_table,
    evaluate_table,
    fit_table,
    load_model,
    predict_table,
    save_model,
)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_table().to_csv("data.csv", index=False)
    return tmp_path


def test_fit_predict_enhance_evaluate_files(files):
    model = fit_table("data.csv", LABELS, columns=ColumnOptions(id="key"))
    save_model(model, "m.ldl")
    assert isinstance(model, TableModel)
    written = predict_table("data.csv", model, "out.csv")
    assert (written.rows, written.labels, written.output) == (80, LABELS, "out.csv")
    np.testing.assert_allclose(
        pd.read_csv("out.csv")[LABELS], load_model("m.ldl").predict(make_table()), atol=1e-12
    )
    enhance_table("data.csv", "m.ldl", "degrees.parquet")
    assert list(pd.read_parquet("degrees.parquet")) == ["key", *LABELS]
    found = evaluate_table("data.csv", "m.ldl")
    assert (found.rows, found.truth) == (80, "0/1 labels")
    assert found.better_than_baselines
    same = compare_tables("out.csv", "out.csv", id="key", metrics=["intersection"])
    assert (same.id, same.rows) == ("key", 80)
    assert same.scores["intersection"] == pytest.approx(1)
    assert describe_file("m.ldl")["method"] == "DLDL"


def test_progress_is_reported(files):
    progress = {}

    class RecordingProgress:
        def __init__(self, task, total, *, is_bytes=False):
            self.task, progress[task] = task, [total, 0]

        def __enter__(self):
            def advance(amount):
                progress[self.task][1] += amount

            return advance

        def __exit__(self, *error):
            pass

    fit_table(
        "data.csv",
        ",".join(LABELS),
        columns=ColumnOptions(id="key"),
        reading=ReadingOptions(progress=RecordingProgress),
    )
    size = (files / "data.csv").stat().st_size
    assert progress["reading"] == [size, size]
    assert "fitting" in progress


def test_enhance_by_a_model_refuses_what_belongs_to_a_fit(files):
    with pytest.raises(ParameterError, match=r"labels has no meaning .* unless it is a NumPy file"):
        enhance_table("data.csv", "m.ldl", "out.csv", labels="sky")
    with pytest.raises(ParameterError, match="features has no meaning beside a model"):
        enhance_table("data.csv", "m.ldl", "out.csv", columns=ColumnOptions(features="height"))


def test_labels_are_read_once(files, monkeypatch):
    """Parsing texts as labels is slow; a fit with held-out rows needs the labels four times."""
    from ldlearn.tables import table_labels, values

    seen = []
    monkeypatch.setattr(
        table_labels,
        "to_labels",
        lambda frame, names, blank: seen.append(names) or values.to_labels(frame, names),
    )
    save_model(fit_table("data.csv", LABELS, columns=ColumnOptions(id="key")), "m.ldl")
    assert seen == [LABELS]


def test_codes_stay_unchanged_if_texts_occur_in_a_later_chunk(tmp_path):
    n = 20_000  # more than a chunk; the first chunk contains only numbers
    cells = ["1.50", "2.50"] * (n // 4) + ["low", "high"] * (n // 4)
    labels = np.arange(n) % 3 == 0
    table = pd.DataFrame(
        {"x": np.sin(np.arange(n)), "code": cells, "a": labels.astype(int), "b": 1}
    )
    table.to_csv(tmp_path / "late.csv", index=False)
    model = fit_table(str(tmp_path / "late.csv"), "a,b", method="PriorLE+MeanLDL", holdout=0)
    assert model.preprocessing.categories == {"code": ["1.50", "2.50", "high", "low"]}


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs pipes with names")
def test_a_pipe_with_a_name_is_read_once():
    """As in ``ldlearn fit <(zcat data.csv.gz) --from csv``: a second reading finds nothing, or
    waits for ever."""
    n = 20_000
    cells = ["1.50", "2.50"] * (n // 4) + ["low", "high"] * (n // 4)
    table = pd.DataFrame({"code": cells, "a": np.arange(n) % 2, "b": 1}).to_csv(index=False)
    read_end, write_end = map(os.fdopen, os.pipe(), "rw")

    def write():
        with write_end:
            write_end.write(table)

    with read_end, ThreadPoolExecutor() as threads:
        threads.submit(write)
        name = f"/dev/fd/{read_end.fileno()}"
        model = fit_table(
            name, "a,b", method="PriorLE+MeanLDL", holdout=0, reading=ReadingOptions(format="csv")
        )
    assert model.categorical == ("code",)
