"""What all tables that are read have in common."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldlearn.tables.source import _frame, _stacked


@given(st.permutations(range(4)), st.integers(1, 4), st.integers(0, 3), st.booleans())
def test_stacked_arrays_are_the_rows_of_a_matrix(order, count, n_columns, reversed_rows):
    matrix = np.arange(4.0 * n_columns).reshape(4, n_columns).copy()
    rows = [matrix[i][::-1] if reversed_rows else matrix[i] for i in order[:count]]
    np.testing.assert_array_equal(_stacked(rows), np.array([row.copy() for row in rows]))


def test_rows_of_one_matrix_are_not_copied():
    matrix = np.arange(12.0).reshape(4, 3).copy()
    assert _stacked(list(matrix)) is matrix
    frame = _frame(dict(zip("abcd", matrix, strict=True)), 1)
    assert np.shares_memory(frame.to_numpy(), matrix)


@pytest.mark.parametrize("part", [np.s_[:3], np.s_[::-1], np.s_[1:]])
def test_other_rows_are_copied(part):
    matrix = np.arange(12.0).reshape(4, 3).copy()
    assert not np.shares_memory(_stacked(list(matrix)[part]), matrix)
