"""Ten messy tables as people have them, from file to degrees: as good as the same data clean."""

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
SEEN = 600  # the others are predicted
LABELS = ["calm", "glad", "upset"]
WITHIN = 0.01


class World:
    """Numbers, and 0/1 labels that were ticked by two voters each after degrees that depend on the numbers."""

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


def numbers(m: int = 3, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, m))


def command(*words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 0, words


def quality(world: World, seen: str, new: str, labels: str = ",".join(LABELS), id: str = "key", *words: str) -> float:
    """Intersection with the true degrees of rows that the model has not seen."""
    command("fit", seen, "--labels", labels, "--id", id, "-o", "m.ldl", *words)
    command("predict", new, "--model", "m.ldl", "-o", "out.csv")
    degrees = pd.read_csv("out.csv").set_index(id).sort_index()
    assert len(degrees) == N - SEEN
    return float(intersection(world.D[SEEN:], degrees.to_numpy()))


def write_csv(table: pd.DataFrame, name: str) -> tuple[str, str]:
    table[:SEEN].to_csv(f"{name}.csv", index=False)
    table[SEEN:].to_csv(f"{name}_new.csv", index=False)
    return f"{name}.csv", f"{name}_new.csv"


def clean_quality(world: World, features: pd.DataFrame) -> float:
    """The same of a clean table, of which no rows are held out: that changes nothing but the time."""
    return quality(world, *write_csv(world.labelled(features), "clean"), ",".join(LABELS), "key", "--holdout", "0")


@pytest.fixture(scope="module")
def quality_of_numbers(tmp_path_factory) -> float:
    """Of a clean table of `numbers`, which several messy ones hold in another form."""
    with contextlib.chdir(tmp_path_factory.mktemp("clean")):
        return clean_quality(World(numbers()), pd.DataFrame(numbers(), columns=list("abc")))


def accounting() -> tuple[World, pd.DataFrame, Callable[[], tuple[str, str]]]:
    """Thousands separators, a currency, brackets around negative amounts, percent signs, a dash for nothing."""
    X = numbers() * [40_000, 9, 3] + [25_000, 50, 0]
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
    world = World(X)
    return world, clean, lambda: write_csv(world.labelled(messy), "accounts")


def survey():
    """A number and a free text; clean, somebody has marked every word by hand."""
    X = numbers(2)
    rng = np.random.default_rng(5)
    told = X[:, 1] > 0
    words = {True: ["friendly", "helpful", "quick"], False: ["slow", "rude", "late"]}
    filler = "the staff at this place was on the whole rather and I would say so again to my friends".split()  # noqa: SIM905
    texts = [" ".join([*rng.choice(filler, 9), *words[bool(t)]]) for t in told]
    world = World(np.column_stack([X[:, 0], told]))
    vocabulary = sorted({word for text in texts for word in text.split()})
    clean = pd.DataFrame({f"says {word}": [int(word in text.split()) for text in texts] for word in vocabulary})
    clean.insert(0, "age", X[:, 0])
    messy = pd.DataFrame({"age": X[:, 0], "comment": texts})
    return world, clean, lambda: write_csv(world.labelled(messy), "survey")


def sensors():
    """A log with time stamps: labels follow the hour of the day and drift over the months."""
    rng = np.random.default_rng(2)
    when = pd.Timestamp("2024-02-01") + pd.to_timedelta(rng.integers(0, 300 * 1440, N), unit="min")
    hours, days = when.hour + when.minute / 60, (when - when.min()) / pd.Timedelta("1D")
    load = rng.normal(size=N)
    world = World(np.column_stack([hours, days, load]))
    clean = pd.DataFrame({"hour": hours, "days": days, "load": load})
    messy = pd.DataFrame({"time": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "load": load, "device": "A-7"})
    return world, clean, lambda: write_csv(world.labelled(messy), "sensors")


def embeddings():
    """Vectors of one column in a parquet file."""
    X = numbers(8).astype(np.float32)
    world = World(X.astype(float))
    clean = pd.DataFrame(X.astype(float), columns=[f"x{j}" for j in range(8)])

    def write() -> tuple[str, str]:
        table = world.labelled(pd.DataFrame({"embedding": list(X)}))
        table[:SEEN].to_parquet("vectors.parquet", index=False)
        table[SEEN:].drop(columns=LABELS).to_parquet("vectors_new.parquet", index=False)
        return "vectors.parquet", "vectors_new.parquet"

    return world, clean, write


def excel():
    """A workbook with a title, an empty row and a note above its table."""
    pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install openpyxl")
    X = numbers()
    world = World(X)
    clean = pd.DataFrame(X, columns=["width", "height", "weight"])

    def write() -> tuple[str, str]:
        for name, rows in (("book.xlsx", slice(0, SEEN)), ("book_new.xlsx", slice(SEEN, N))):
            with pd.ExcelWriter(name) as book:
                world.labelled(clean)[rows].to_excel(book, index=False, startrow=3)
                book.sheets["Sheet1"].cell(1, 1, "Results of the spring campaign")
                book.sheets["Sheet1"].cell(3, 1, "all sizes in metres")
        return "book.xlsx", "book_new.xlsx"

    return world, clean, write


def junk():
    """Two cells of a hundred hold something that is no number; what they held is lost, in new rows too."""
    X = numbers(2)
    rng = np.random.default_rng(3)
    clean = pd.DataFrame(X, columns=list("ab"))
    messy = clean.astype(object)
    for i, j in np.argwhere(rng.random(X.shape) < 0.02):
        messy.iat[i, j] = rng.choice(["?", "-", "n/a", "ERR", "see note", "#REF!"])
    world = World(X)
    return world, clean, lambda: write_csv(world.labelled(messy), "junk")


PLAIN = {
    "accounting": accounting,
    "survey": survey,
    "sensors": sensors,
    "embeddings": embeddings,
    "excel": excel,
    "junk": junk,
}


@pytest.mark.parametrize("kind", PLAIN)
def test_a_messy_table_is_as_good_as_a_clean_one(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world, clean, write = PLAIN[kind]()
    seen, new = write()
    best = clean_quality(world, clean)
    assert quality(world, seen, new) >= best - WITHIN
    constant = np.tile(world.D[:SEEN].mean(axis=0), (N - SEEN, 1))
    assert best > intersection(world.D[SEEN:], constant) + 5 * WITHIN  # or anything would do


def test_headers_of_any_script(quality_of_numbers, tmp_path, monkeypatch):
    """Greek, Chinese and Arabic headers, semicolons, decimal commas, and a byte order mark."""
    monkeypatch.chdir(tmp_path)
    X = numbers()
    world, labels = World(X), ["ήρεμος", "高兴", "غاضب"]
    table = world.labelled(pd.DataFrame(X, columns=["ύψος", "宽度", "وزن"]), labels)
    for name, rows in (("any.csv", table[:SEEN]), ("any_new.csv", table[SEEN:].drop(columns=labels))):
        rows.to_csv(name, index=False, sep=";", decimal=",", encoding="utf-8-sig")
    found = quality(world, "any.csv", "any_new.csv", ",".join(labels))
    assert found == pytest.approx(quality_of_numbers, abs=1e-9)


def test_sparse_words(tmp_path, monkeypatch):
    """A TF-IDF matrix in an .npz file, labels and keys beside it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    X = scipy.sparse.random_array((N, 60), density=0.1, random_state=rng, format="csr")
    world = World(X.toarray())
    keys = np.array([f"r{i:04d}" for i in range(N)])
    for name, rows in (("words.npz", slice(0, SEEN)), ("words_new.npz", slice(SEEN, N))):
        part = X[rows]
        np.savez(
            name,
            data=part.data,
            indices=part.indices,
            indptr=part.indptr,
            shape=part.shape,
            format=b"csr",
            Y=world.Y[rows],
            label_names=LABELS,
            key=keys[rows],
        )
    clean = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(60)])
    found = quality(world, "words.npz", "words_new.npz", "Y")
    assert found == pytest.approx(clean_quality(world, clean), abs=WITHIN)


def test_ratings_in_long_form(quality_of_numbers, tmp_path, monkeypatch):
    """One row an answer; `ldlearn import` makes the table."""
    monkeypatch.chdir(tmp_path)
    X = numbers()
    world = World(X)
    answers = [
        {"item": f"r{i:04d}", "rater": f"rater {k}", "label": label, **dict(zip("abc", X[i], strict=True))}
        for i in range(N)
        for k, label in enumerate(np.repeat(LABELS, world.votes[i]))
    ]
    table = pd.DataFrame(answers)
    for name, rows in (("long", table["item"] < f"r{SEEN:04d}"), ("long_new", table["item"] >= f"r{SEEN:04d}")):
        table[rows].sample(frac=1, random_state=0).to_csv(f"{name}.csv", index=False)
        command("import", f"{name}.csv", "--as", "labels", "-o", f"{name}_wide.csv")
    found = quality_of_imported(world, "long_wide.csv", "long_new_wide.csv")
    assert found == pytest.approx(quality_of_numbers, abs=WITHIN)


def test_an_export_of_label_studio(quality_of_numbers, tmp_path, monkeypatch):
    """Tasks with their data and the choices of two annotators."""
    monkeypatch.chdir(tmp_path)
    X = numbers()
    world = World(X)

    def task(i: int) -> dict:
        chosen = np.repeat(LABELS, world.votes[i])
        return {
            "id": i,
            "data": dict(zip("abc", X[i].tolist(), strict=True)),
            "annotations": [
                {
                    "completed_by": k,
                    "result": [
                        {"type": "choices", "from_name": "mood", "to_name": "text", "value": {"choices": [str(label)]}}
                    ],
                }
                for k, label in enumerate(chosen)
            ],
        }

    for name, rows in (("project", range(SEEN)), ("project_new", range(SEEN, N))):
        with open(f"{name}.json", "w") as file:
            json.dump([task(i) for i in rows], file)
        command("import", f"{name}.json", "--as", "labels", "-o", f"{name}_wide.csv")
    found = quality_of_imported(world, "project_wide.csv", "project_new_wide.csv")
    assert found == pytest.approx(quality_of_numbers, abs=WITHIN)


def quality_of_imported(world: World, seen: str, new: str) -> float:
    table = pd.read_csv(seen)
    assert set(LABELS) <= set(table)
    return quality(world, seen, new, id=table.columns[0])


def test_vectors_of_other_lengths_are_refused_by_row(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    ragged = pd.DataFrame({"vector": [[1.0, 2.0], [3.0, 4.0], [5.0]], "a": [1, 0, 1], "b": [0, 1, 1]})
    ragged.to_parquet("ragged.parquet")
    with pytest.raises(SystemExit) as ended:
        main(["fit", "ragged.parquet", "-l", "a,b", "-o", "m.ldl"])
    assert ended.value.code == 2
    assert "ragged.parquet, row 3, column 'vector': its list has 1 numbers, the first" in capfd.readouterr().err
