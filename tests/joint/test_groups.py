"""Groups of rows that belong together: folds, model selection, validation of the argument."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from ldlearn import DLDL, FromClassifier, StackedLDL, VoteLDL
from ldlearn.base.row_data import _validate_groups
from ldlearn.exceptions import InputError
from ldlearn.learning import SABFGS, MeanLDL
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.folds import validation_folds


def test_rows_of_a_group_are_in_the_same_fold():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(300, 2)), rng.integers(0, 40, size=300)
    folds = validation_folds(CentredMatrix(X), groups)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(300))
    for fold in folds:
        assert not set(groups[fold.train]) & set(groups[fold.test])
    order = rng.permutation(300)
    renamed = 1000 - 7 * groups
    for fold, moved in zip(
        folds, validation_folds(CentredMatrix(X[order]), renamed[order]), strict=True
    ):
        assert set(fold.test) == set(order[moved.test])
    assert validation_folds(CentredMatrix(X), np.arange(300) % 9) == []  # as for nine rows


def noise_of_groups(n_groups=30):
    """Features identify the groups, and labels depend on nothing but the group: held-out groups are
    noise."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), 10)
    X = rng.normal(size=(n_groups, 30))[groups] + 0.01 * rng.normal(size=(len(groups), 30))
    return X, (rng.random((n_groups, 4)) < 0.5)[groups] | (np.arange(4) == 0), groups


@pytest.mark.parametrize("model", [DLDL(), VoteLDL()], ids=repr)
def test_model_selection_does_not_learn_which_row_is_in_which_group(model):
    X, Y, groups = noise_of_groups()
    alone, together = (
        clone(model).fit(X, Y, groups=each).gamma_ for each in (None, groups.astype(str))
    )
    assert together > 30.0 * alone


def test_compositions_keep_groups_together():
    X, Y, groups = noise_of_groups()
    spread = [
        np.ptp(FromClassifier().fit(X, Y, groups=each).predict(X), axis=0).max()
        for each in (None, groups)
    ]
    assert spread[0] > 2.0 * spread[1]
    members = [("mean", MeanLDL()), ("linear", SABFGS(l2=1.0))]
    stacked = StackedLDL(members=members, teacher=DLDL(beta=1.0, gamma=1.0))
    weights = [stacked.fit(X, Y, groups=each).member_weights_[1] for each in (None, groups)]
    assert weights[0] > 0.8
    assert weights[1] < 0.5
    with pytest.raises(InputError, match="'groups'"):
        FromClassifier(classifier=LogisticRegression()).fit(X, Y, groups=groups)


def test_groups_are_hashable_values():
    X = np.zeros((4, 1))
    expected = [0, 1, 0, 2]
    for groups in (["a", "b", "a", "c"], np.array([5.0, 1.0, 5.0, 7.0]), [(1, 2), "x", (1, 2), 3]):
        assert _validate_groups(groups, X).tolist() == expected
    assert (
        _validate_groups(pd.Series(["a", "b", "a", "c"], dtype="category"), X).tolist() == expected
    )
    for groups in (
        [1, 2, None, 3],
        [1.0, 2.0, np.nan, 3.0],
        pd.array([1, 2, None, 3]),
        [1, 2, [3], 4],
        np.ones((4, 2)),
    ):
        with pytest.raises(InputError, match=r"groups.*row [02]"):
            _validate_groups(groups, X)
    with pytest.raises(InputError, match="one value for each of the 4 rows, got 3"):
        _validate_groups([1, 2, 3], X)
