"""Equal rows and groups of rows: kept together in splits, and one piece of evidence in standard
errors."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator

from ldlearn import DLDL
from ldlearn.core.row_groups import hash_rows, join_groups, rows_of_groups
from ldlearn.exceptions import TableError
from ldlearn.experiments import plan_for_table
from ldlearn.experiments.splits import make_split
from ldlearn.metrics.against_baselines import clearly_better, score_with_baselines
from ldlearn.tables import ColumnOptions, TableModel, fit_table, load_table_model, save_model
from ldlearn.tables.ask import _held_out_probabilities, ask_table

LABELS = ["sky", "sea", "sun"]
SHARP = {"beta": 0.1, "gamma": 1e-3}  # learns repeated rows by heart


def noise(seed: int, copies: int, blur: float = 0.0) -> pd.DataFrame:
    """A hundred units with random labels, each in several rows; blurred rows are not equal."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(100, 4)), (rng.random((100, 3)) < 0.4).astype(int)
    Y[np.arange(100), rng.integers(3, size=100)] = 1
    units = rng.permutation(np.repeat(np.arange(100), copies))
    features = X[units] + blur * rng.normal(size=(len(units), 4))
    table = pd.DataFrame(
        np.column_stack([features, Y[units]]), columns=["a", "b", "c", "d", *LABELS]
    )
    return table.assign(unit=[f"u{unit}" for unit in units])


def test_keys_of_rows_depend_on_the_values_only():
    X = scipy.sparse.random(50, 30, density=0.1, random_state=0, format="csr")
    assert (hash_rows(X) == hash_rows(X.toarray())).all()
    assert (hash_rows(X[::2]) == hash_rows(X)[::2]).all()
    # Rows of a few bits differ as well.
    binary = np.array(np.meshgrid(*[[0.0, 1.0]] * 12)).reshape(12, -1).T
    assert len(np.unique(hash_rows(binary))) == 2**12
    swapped = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 0.0]])
    assert len(np.unique(hash_rows(swapped))) == 3


def test_groups_are_joined_by_rows_they_share_and_keep_the_order_of_rows():
    assert (join_groups(np.arange(40)[::-1]) == np.arange(40)).all()
    assert join_groups(list("abcab"), [1, 2, 3, 2, 4]).tolist() == [0, 0, 1, 0, 0]
    groups = np.array([0, 1, 0, 2, 1])
    assert rows_of_groups(groups, np.array([2, 0])).tolist() == [3, 0, 2]


def test_standard_errors_are_those_of_groups():
    rng = np.random.default_rng(0)
    Y, P = (rng.random((40, 3)) < 0.5).astype(float), rng.dirichlet(np.ones(3), size=40)
    Y[:, 0] = 1
    copies, mean = np.repeat(np.arange(40), 5), np.full(3, 1 / 3)
    alone = score_with_baselines(Y, P, mean, P[::-1], logical=True)
    repeated = score_with_baselines(
        Y[copies], P[copies], mean, P[::-1][copies], logical=True, groups=copies
    )
    assert (repeated["rows"], repeated["groups"]) == (200, 40)
    for name in ("advantage", "standard_error", "classifier_gain", "classifier_error"):
        assert repeated[name] == pytest.approx(
            alone[name], rel=0.02
        )  # the rate of votes has a weak prior
    naive = score_with_baselines(Y[copies], P[copies], mean, None, logical=True)
    assert naive["standard_error"] < 0.5 * alone["standard_error"]


def test_one_group_with_most_rows_is_no_evidence():
    Y, P = np.tile([1.0, 0.0, 0.0], (120, 1)), np.tile([0.8, 0.1, 0.1], (120, 1))
    P[100:] = [0.1, 0.8, 0.1]
    groups = np.concatenate([np.zeros(100, dtype=int), np.arange(1, 21)])
    assert not score_with_baselines(Y, P, np.full(3, 1 / 3), None, logical=True, groups=groups)[
        "better_than_baselines"
    ]


def test_few_groups_need_more_than_two_standard_errors():
    assert clearly_better(2.05, 1.0, 200)
    assert not clearly_better(1.95, 1.0, 10**6)
    assert not clearly_better(4.0, 1.0, 3)
    assert not clearly_better(1e9, 1.0, 1)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("blur", "options"), [(0.0, {"ignore": "unit"}), (0.01, {"groups": "unit"})]
)
def test_repeated_noise_is_not_informative(seed, blur, options):
    model = fit_table(noise(seed, 5, blur), LABELS, params=SHARP, columns=ColumnOptions(**options))
    held = model.facts["holdout"]
    assert model.facts["repeated_rows"] == (0 if blur else 400)
    assert (held["rows"], held["groups"]) == (100, 20)
    assert not held["better_than_baselines"]
    assert any("100 held-out rows in 20 groups" in warning for warning in model.facts["warnings"])


def test_distinct_rows_are_held_out_as_before():
    held = fit_table(noise(0, 1), LABELS, params=SHARP, columns=ColumnOptions(ignore="unit")).facts[
        "holdout"
    ]
    assert held["rows"] == held["groups"] == 20


def test_column_of_groups_is_no_feature_and_is_stored(tmp_path):
    path = str(tmp_path / "m.ldl")
    columns = ColumnOptions(groups="unit", id="unit")
    model = fit_table(noise(0, 2, 0.1), LABELS, params=SHARP, columns=columns)
    save_model(model, path)
    assert model.features == ("a", "b", "c", "d")
    assert not any("not unique" in warning for warning in model.facts["warnings"])
    assert load_table_model(path).groups == "unit"


def test_methods_that_take_groups_get_them(monkeypatch):
    seen = []
    fit = DLDL.fit
    monkeypatch.setattr(
        DLDL,
        "fit",
        lambda self, X, y, **row_data: seen.append(row_data) or fit(self, X, y, **row_data),
    )
    table = noise(0, 2, 0.1)
    TableModel.fit(table, LABELS, estimator=DLDL(**SHARP), columns=ColumnOptions(groups="unit"))
    assert (seen[0]["groups"] == pd.factorize(table["unit"])[0]).all()
    TableModel.fit(table, LABELS, estimator=DLDL(**SHARP), columns=ColumnOptions(ignore="unit"))
    assert "groups" not in seen[1]


def test_wrong_groups_are_refused():
    table = noise(0, 1)
    with pytest.raises(TableError, match="labels and groups both name 'sea'"):
        fit_table(table, LABELS, columns=ColumnOptions(groups="sea"))
    with pytest.raises(TableError, match="groups and features both name 'unit'"):
        fit_table(table, LABELS, columns=ColumnOptions(groups="unit", features="a,unit"))
    with pytest.raises(TableError, match="groups must be one column"):
        fit_table(table, LABELS, columns=ColumnOptions(groups="a,b"))
    table.loc[17, "unit"] = None
    with pytest.raises(TableError, match="group is missing") as caught:
        fit_table(table, LABELS, columns=ColumnOptions(groups="unit"))
    assert (caught.value.row, caught.value.column) == (17, "unit")


def test_too_few_groups_are_reported():
    table = noise(0, 1).assign(unit=["first", "second"] * 50)
    model = fit_table(table, LABELS, params=SHARP, columns=ColumnOptions(groups="unit"))
    assert model.facts["holdout"] is None
    assert "no more than one can be held out" in model.facts["warnings"][-1]
    held = fit_table(
        table.assign(unit=["x", "y", "z", "z"] * 25),
        LABELS,
        params=SHARP,
        columns=ColumnOptions(groups="unit"),
    ).facts["holdout"]
    assert held["groups"] == 2


class NeverOfGroup(BaseEstimator):
    """Refuses to predict rows of the groups, in the first column, that it was fitted on."""

    path_params = ()

    def fit(self, X, y):
        self.groups_ = set(X[:, 0])
        return self

    def predict(self, X):
        assert not self.groups_ & set(X[:, 0])
        return np.full((len(X), 3), 1 / 3)


def test_out_of_fold_labels_keep_groups_together():
    groups = np.repeat(np.arange(12), 4)
    Y = np.random.default_rng(0).integers(2, size=(48, 3)).astype(float)
    Y[:, 0] = 1
    Y[::7] = np.nan
    found = _held_out_probabilities(NeverOfGroup(), groups[:, None].astype(float), Y, groups)
    assert (np.isnan(found) == np.isnan(Y)).all()


def test_ask_reports_repeated_rows_and_a_single_group(tmp_path):
    table = noise(0, 2)
    model = TableModel.fit(
        table, LABELS, estimator=DLDL(**SHARP), columns=ColumnOptions(groups="unit")
    )
    found = ask_table(table, model, str(tmp_path / "ask.csv"))
    assert any("100 of 200 rows have the same features" in message for message in found.messages)
    assert any("look wrong" in message for message in found.messages)
    single = ask_table(
        table.assign(one="x"), model, str(tmp_path / "one.csv"), columns=ColumnOptions(groups="one")
    )
    assert any("not checked" in message for message in single.messages)
    assert not any("look wrong" in message for message in single.messages)


def test_splits_of_compared_methods_keep_rows_together(tmp_path):
    file = str(tmp_path / "t.csv")
    noise(0, 3, 0.1).to_csv(file, index=False)
    messages = []
    plan, table = plan_for_table(
        file, "sky:sun", columns={"groups": "unit"}, on_message=messages.append
    )
    units = pd.read_csv(file)["unit"].to_numpy()
    spec = plan.datasets[0]
    for data in (table, table.take(np.arange(0, 300, 2))):
        split = make_split(data, spec, plan.protocol, 0)
        taken = units if data is table else units[::2]
        parts = [set(taken[part.rows]) for part in (split.train, split.validation, split.test)]
        assert [len(part) for part in parts] == [
            pytest.approx(0.6 * len(set(taken)), abs=1),
            *map(len, parts[1:]),
        ]
        assert len(parts[0] | parts[1] | parts[2]) == sum(map(len, parts)) == len(set(taken))
    noise(0, 3).drop(columns="unit").to_csv(file, index=False)
    plan, table = plan_for_table(file, "sky:sun", on_message=messages.append)
    assert any("200 of 300 rows have the same features" in message for message in messages)
    split = make_split(table, plan.datasets[0], plan.protocol, 0)
    keys = hash_rows(pd.read_csv(file).to_numpy())
    assert not set(keys[split.train.rows]) & set(keys[split.test.rows])
