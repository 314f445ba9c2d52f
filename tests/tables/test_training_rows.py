"""Evaluations on rows that the model was fitted on say so, with the scores of held-out rows."""

import numpy as np
import pandas as pd
import pytest

from ldlearn.core.row_groups import hash_rows
from ldlearn.tables import evaluate_table, fit_table, load_table_model, save_model
from ldlearn.tables.training_rows import _MAX_KEYS, sample_keys, share_in_training

LABELS = ["sky", "sea", "sun"]


def make_rows(seed: int, n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    Y = (X[:, :3] + rng.normal(size=(n, 3)) > 0).astype(int)
    Y[:, 0] |= ~Y.any(axis=1)
    table = pd.DataFrame(np.column_stack([X, Y]), columns=["a", "b", "c", "d", *LABELS])
    return table.assign(
        text=[f"view of the old place number {k % 7} in the {seed + 5}th year" for k in range(n)],
        place=rng.choice(list("uvw"), n),
    )


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    make_rows(0).to_csv(folder / "train.csv", index=False)
    save_model(
        fit_table(str(folder / "train.csv"), LABELS, params={"beta": 0.1, "gamma": 0.01}),
        str(folder / "m.ldl"),
    )
    return folder


def warnings_of(table: pd.DataFrame, fitted, name: str = "other.csv") -> str:
    file = fitted / name
    table.to_parquet(file) if name.endswith("parquet") else table.to_csv(file, index=False)
    return " ".join(evaluate_table(str(file), str(fitted / "m.ldl")).warnings)


def test_training_file_is_named_with_the_scores_of_held_out_rows(fitted):
    found = evaluate_table(str(fitted / "train.csv"), str(fitted / "m.ldl"))
    model = load_table_model(str(fitted / "m.ldl"))
    sentence = next(warning for warning in found.warnings if "fitted on" in warning)
    held_out = next(s for s in model.facts["holdout"]["scores"] if s["name"] == "vote_likelihood")[
        "model"
    ]
    assert f"{held_out:.4f}" in sentence
    assert held_out < next(score.model for score in found.scores if score.name == "vote_likelihood")
    assert sentence in found.as_dict()["warnings"]


@pytest.mark.parametrize("name", ["other.csv", "other.parquet"])
def test_training_rows_in_another_file_are_counted(fitted, name):
    some = pd.concat([make_rows(1), make_rows(0)[50:150].sample(frac=1, random_state=0)])
    assert "100 of 300 rows have the features of training rows" in warnings_of(some, fitted, name)


def test_true_degrees_of_training_rows_are_scores_of_training_rows(fitted):
    degrees = make_rows(0)
    degrees[LABELS] = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    assert "200 of 200 rows have the features of training rows" in warnings_of(degrees, fitted)


def test_new_rows_are_not_training_rows(fitted):
    assert "training rows" not in warnings_of(make_rows(1), fitted)
    assert "training rows" not in warnings_of(pd.concat([make_rows(1), make_rows(0)[:20]]), fitted)


def test_new_rows_of_few_categories_are_not_training_rows(tmp_path):
    for seed, name in enumerate(["old.csv", "new.csv"]):
        make_rows(seed)[["place", *LABELS]].to_csv(tmp_path / name, index=False)
    model = fit_table(str(tmp_path / "old.csv"), LABELS, params={"beta": 0.1, "gamma": 0.01})
    assert not any(
        "training" in warning
        for warning in evaluate_table(str(tmp_path / "new.csv"), model).warnings
    )


def test_model_without_held_out_rows_has_no_score_of_them(fitted):
    table = str(fitted / "train.csv")
    model = fit_table(table, LABELS, params={"beta": 0.1, "gamma": 0.01}, holdout=0)
    assert any(
        "it has none of held-out rows" in warning
        for warning in evaluate_table(table, model).warnings
    )


def test_overlap_with_many_training_rows_is_estimated_from_a_sample():
    rng = np.random.default_rng(0)
    keys = hash_rows(rng.normal(size=(30_000, 2)))
    sample = sample_keys(keys[:20_000])
    assert len(sample) == _MAX_KEYS
    assert share_in_training(sample, keys[:20_000]) == 1.0
    assert share_in_training(sample, keys[20_000:]) == 0.0
    assert share_in_training(sample, keys) == pytest.approx(2 / 3, abs=0.03)
    assert share_in_training(None, keys) == share_in_training(sample[:0], keys) == 0.0
