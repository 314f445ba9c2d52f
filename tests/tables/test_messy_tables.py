"""Predictions from messy tables are as good as those from the same data in a clean table."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from ldlearn.cli.main import main
from ldlearn.metrics import intersection

N = 900
N_TRAIN = 600  # training rows; the others are predicted
LABELS = ["calm", "glad", "upset"]
TOLERANCE = 0.01


class SimulatedData:
    """True degrees that depend on the features, and 0/1 labels from two votes per row."""

    def __init__(self, features: np.ndarray, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        scaled = (features - features.mean(axis=0)) / features.std(axis=0)
        scores = scaled @ rng.normal(size=(features.shape[1], 3)) / np.sqrt(features.shape[1])
        self.D = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        self.votes = np.array([rng.multinomial(2, row) for row in self.D])
        self.Y = (self.votes > 0).astype(int)

    def labelled(self, features: pd.DataFrame, labels: list[str] = LABELS) -> pd.DataFrame:
        """The table: an id, the features, the labels."""
        keys = pd.DataFrame({"key": [f"r{i:04d}" for i in range(N)]})
        return pd.concat([keys, features, pd.DataFrame(self.Y, columns=labels)], axis=1)


def normal_features(m: int = 3, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, m))


def command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(list(arguments))
    assert exit_info.value.code == 0, arguments


def quality(
    simulated: SimulatedData,
    training_file: str,
    new_file: str,
    labels: str = ",".join(LABELS),
    id: str = "key",
    *arguments: str,
) -> float:
    """Intersection with the true degrees of rows that the model has not seen."""
    command("fit", training_file, "--labels", labels, "--id", id, "-o", "m.ldl", *arguments)
    command("predict", new_file, "--model", "m.ldl", "-o", "out.csv")
    degrees = pd.read_csv("out.csv").set_index(id).sort_index()
    assert len(degrees) == N - N_TRAIN
    return float(intersection(simulated.D[N_TRAIN:], degrees.to_numpy()))


def write_csv(table: pd.DataFrame, name: str) -> tuple[str, str]:
    table[:N_TRAIN].to_csv(f"{name}.csv", index=False)
    table[N_TRAIN:].to_csv(f"{name}_new.csv", index=False)
    return f"{name}.csv", f"{name}_new.csv"


def clean_quality(simulated: SimulatedData, features: pd.DataFrame) -> float:
    """Quality with a clean table; without held-out rows the fit is faster and otherwise the
    same."""
    return quality(
        simulated,
        *write_csv(simulated.labelled(features), "clean"),
        ",".join(LABELS),
        "key",
        "--holdout",
        "0",
    )


@pytest.fixture(scope="module")
def quality_of_numbers(tmp_path_factory) -> float:
    """Quality with a clean table of `normal_features`, which several messy tables contain in
    another format."""
    with contextlib.chdir(tmp_path_factory.mktemp("clean")):
        return clean_quality(
            SimulatedData(normal_features()), pd.DataFrame(normal_features(), columns=list("abc"))
        )


def accounting() -> tuple[SimulatedData, pd.DataFrame, Callable[[], tuple[str, str]]]:
    """Thousands separators, a currency, parentheses for negative amounts, percent signs, a dash for
    missing values."""
    X = normal_features() * [40_000, 9, 3] + [25_000, 50, 0]
    amounts = [f"({-x:,.2f})" if x < 0 else f"{x:,.2f}" for x in X[:, 0]]
    messy = pd.DataFrame(
        {
            "turnover": amounts,
            "share": [f"{x:.1f}%" for x in X[:, 1]],
            "change": [f"{'-' if x < 0 else ''}${abs(x):.2f}" for x in X[:, 2]],
        }
    )
    messy.loc[::97, "share"] = "-"
    clean = pd.DataFrame(X, columns=list(messy)).round({"turnover": 2, "share": 1, "change": 2})
    simulated = SimulatedData(X)
    return simulated, clean, lambda: write_csv(simulated.labelled(messy), "accounts")


def survey():
    """A number and a free text; the clean table has an indicator column for every word."""
    X = normal_features(2)
    rng = np.random.default_rng(5)
    positive = X[:, 1] > 0
    opinions = {True: ["friendly", "helpful", "quick"], False: ["slow", "rude", "late"]}
    words = "the staff at this place was on the whole rather and I would say so again to my friends"
    texts = [" ".join([*rng.choice(words.split(), 9), *opinions[bool(t)]]) for t in positive]
    simulated = SimulatedData(np.column_stack([X[:, 0], positive]))
    vocabulary = sorted({word for text in texts for word in text.split()})
    clean = pd.DataFrame(
        {f"says {word}": [int(word in text.split()) for text in texts] for word in vocabulary}
    )
    clean.insert(0, "age", X[:, 0])
    messy = pd.DataFrame({"age": X[:, 0], "comment": texts})
    return simulated, clean, lambda: write_csv(simulated.labelled(messy), "survey")


def sensors():
    """A log with time stamps: labels follow the hour of the day and drift over the months."""
    rng = np.random.default_rng(2)
    when = pd.Timestamp("2024-02-01") + pd.to_timedelta(rng.integers(0, 300 * 1440, N), unit="min")
    hours, days = when.hour + when.minute / 60, (when - when.min()) / pd.Timedelta("1D")
    load = rng.normal(size=N)
    simulated = SimulatedData(np.column_stack([hours, days, load]))
    clean = pd.DataFrame({"hour": hours, "days": days, "load": load})
    messy = pd.DataFrame(
        {"time": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "load": load, "device": "A-7"}
    )
    return simulated, clean, lambda: write_csv(simulated.labelled(messy), "sensors")


def embeddings():
    """Vectors of one column in a parquet file."""
    X = normal_features(8).astype(np.float32)
    simulated = SimulatedData(X.astype(float))
    clean = pd.DataFrame(X.astype(float), columns=[f"x{j}" for j in range(8)])

    def write() -> tuple[str, str]:
        table = simulated.labelled(pd.DataFrame({"embedding": list(X)}))
        table[:N_TRAIN].to_parquet("vectors.parquet", index=False)
        table[N_TRAIN:].drop(columns=LABELS).to_parquet("vectors_new.parquet", index=False)
        return "vectors.parquet", "vectors_new.parquet"

    return simulated, clean, write


def excel():
    """A workbook with a title, an empty row and a note above its table."""
    pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install openpyxl")
    X = normal_features()
    simulated = SimulatedData(X)
    clean = pd.DataFrame(X, columns=["width", "height", "weight"])

    def write() -> tuple[str, str]:
        for name, rows in (("book.xlsx", slice(0, N_TRAIN)), ("book_new.xlsx", slice(N_TRAIN, N))):
            with pd.ExcelWriter(name) as book:
                simulated.labelled(clean)[rows].to_excel(book, index=False, startrow=3)
                book.sheets["Sheet1"].cell(1, 1, "Results of the spring campaign")
                book.sheets["Sheet1"].cell(3, 1, "all sizes in metres")
        return "book.xlsx", "book_new.xlsx"

    return simulated, clean, write


def malformed():
    """Two percent of the cells are malformed, also in new rows."""
    X = normal_features(2)
    rng = np.random.default_rng(3)
    clean = pd.DataFrame(X, columns=list("ab"))
    messy = clean.astype(object)
    for i, j in np.argwhere(rng.random(X.shape) < 0.02):
        messy.iat[i, j] = rng.choice(["?", "-", "n/a", "ERR", "see note", "#REF!"])
    simulated = SimulatedData(X)
    return simulated, clean, lambda: write_csv(simulated.labelled(messy), "malformed")


MESSY_TABLES = {
    "accounting": accounting,
    "survey": survey,
    "sensors": sensors,
    "embeddings": embeddings,
    "excel": excel,
    "malformed": malformed,
}


@pytest.mark.parametrize("kind", MESSY_TABLES)
def test_quality_of_messy_tables_matches_clean_tables(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    simulated, clean, write = MESSY_TABLES[kind]()
    training_file, new_file = write()
    best = clean_quality(simulated, clean)
    assert quality(simulated, training_file, new_file) >= best - TOLERANCE
    constant = np.tile(simulated.D[:N_TRAIN].mean(axis=0), (N - N_TRAIN, 1))
    assert (
        best > intersection(simulated.D[N_TRAIN:], constant) + 5 * TOLERANCE
    )  # the clean model is informative


def test_non_latin_headers(quality_of_numbers, tmp_path, monkeypatch):
    """Greek, Chinese and Arabic headers, semicolons, decimal commas, and a byte order mark."""
    monkeypatch.chdir(tmp_path)
    X = normal_features()
    simulated, labels = SimulatedData(X), ["ήρεμος", "高兴", "غاضب"]
    table = simulated.labelled(pd.DataFrame(X, columns=["ύψος", "宽度", "وزن"]), labels)
    for name, rows in (
        ("any.csv", table[:N_TRAIN]),
        ("any_new.csv", table[N_TRAIN:].drop(columns=labels)),
    ):
        rows.to_csv(name, index=False, sep=";", decimal=",", encoding="utf-8-sig")
    found = quality(simulated, "any.csv", "any_new.csv", ",".join(labels))
    assert found == pytest.approx(quality_of_numbers, abs=1e-9)


def test_sparse_tf_idf_matrix(tmp_path, monkeypatch):
    """A TF-IDF matrix in an .npz file, labels and keys beside it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    X = scipy.sparse.random_array((N, 60), density=0.1, random_state=rng, format="csr")
    simulated = SimulatedData(X.toarray())
    keys = np.array([f"r{i:04d}" for i in range(N)])
    for name, rows in (("words.npz", slice(0, N_TRAIN)), ("words_new.npz", slice(N_TRAIN, N))):
        part = X[rows]
        np.savez(
            name,
            data=part.data,
            indices=part.indices,
            indptr=part.indptr,
            shape=part.shape,
            format=b"csr",
            Y=simulated.Y[rows],
            label_names=LABELS,
            key=keys[rows],
        )
    clean = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(60)])
    found = quality(simulated, "words.npz", "words_new.npz", "Y")
    assert found == pytest.approx(clean_quality(simulated, clean), abs=TOLERANCE)


def test_long_format_ratings(quality_of_numbers, tmp_path, monkeypatch):
    """One row per annotation; `ldlearn import` makes the table."""
    monkeypatch.chdir(tmp_path)
    X = normal_features()
    simulated = SimulatedData(X)
    answers = [
        {
            "item": f"r{i:04d}",
            "rater": f"rater {k}",
            "label": label,
            **dict(zip("abc", X[i], strict=True)),
        }
        for i in range(N)
        for k, label in enumerate(np.repeat(LABELS, simulated.votes[i]))
    ]
    table = pd.DataFrame(answers)
    for name, rows in (
        ("long", table["item"] < f"r{N_TRAIN:04d}"),
        ("long_new", table["item"] >= f"r{N_TRAIN:04d}"),
    ):
        table[rows].sample(frac=1, random_state=0).to_csv(f"{name}.csv", index=False)
        command("import", f"{name}.csv", "--as", "labels", "-o", f"{name}_wide.csv")
    found = quality_of_imported(simulated, "long_wide.csv", "long_new_wide.csv")
    assert found == pytest.approx(quality_of_numbers, abs=TOLERANCE)


def test_label_studio_export(quality_of_numbers, tmp_path, monkeypatch):
    """Tasks with their data and the choices of two annotators."""
    monkeypatch.chdir(tmp_path)
    X = normal_features()
    simulated = SimulatedData(X)

    def task(i: int) -> dict:
        chosen = np.repeat(LABELS, simulated.votes[i])
        return {
            "id": i,
            "data": dict(zip("abc", X[i].tolist(), strict=True)),
            "annotations": [
                {
                    "completed_by": k,
                    "result": [
                        {
                            "type": "choices",
                            "from_name": "mood",
                            "to_name": "text",
                            "value": {"choices": [str(label)]},
                        }
                    ],
                }
                for k, label in enumerate(chosen)
            ],
        }

    for name, rows in (("project", range(N_TRAIN)), ("project_new", range(N_TRAIN, N))):
        with open(f"{name}.json", "w") as file:
            json.dump([task(i) for i in rows], file)
        command("import", f"{name}.json", "--as", "labels", "-o", f"{name}_wide.csv")
    found = quality_of_imported(simulated, "project_wide.csv", "project_new_wide.csv")
    assert found == pytest.approx(quality_of_numbers, abs=TOLERANCE)


def quality_of_imported(simulated: SimulatedData, training_file: str, new_file: str) -> float:
    table = pd.read_csv(training_file)
    assert set(LABELS) <= set(table)
    return quality(simulated, training_file, new_file, id=table.columns[0])


def test_vectors_of_different_lengths_are_rejected_by_row(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    ragged = pd.DataFrame(
        {"vector": [[1.0, 2.0], [3.0, 4.0], [5.0]], "a": [1, 0, 1], "b": [0, 1, 1]}
    )
    ragged.to_parquet("ragged.parquet")
    with pytest.raises(SystemExit) as exit_info:
        main(["fit", "ragged.parquet", "-l", "a,b", "-o", "m.ldl"])
    assert exit_info.value.code == 2
    assert (
        "ragged.parquet, row 3, column 'vector': its list has 1 numbers, the first"
        in capfd.readouterr().err
    )
