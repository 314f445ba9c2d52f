"""Column selection by name, prefix, range and position."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldlearn.exceptions import TableError
from ldlearn.tables.columns import find_columns

NAMES = ["id", "joy", "joyful", "fear", "x1", "x2", "a,b", "1:2"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("joy", [1]),
        (["joy", "fear"], [1, 3]),
        ("joy*", [1, 2]),
        ("fear, joy*", [3, 1, 2]),
        ("fear:x2", [3, 4, 5]),
        (":joy", [0, 1]),
        ("2:3", [2, 3]),
        ("7:", [7]),
        ('"a,b",joy', [6, 1]),
        ("a,b", [6]),
        ("1:2", [7]),
        (3, [3]),
        ([-1, "joy", np.int64(0)], [7, 1, 0]),
        (slice(1, 3), [1, 2]),
        (["id", slice(4, 6), "joy*"], [0, 4, 5, 1, 2]),
        (("x1:x2",), [4, 5]),
    ],
)
def test_find_columns(choice, expected):
    assert find_columns(NAMES, choice) == expected


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("joyfu", "labels: there is no column 'joyfu'; did you mean joyful"),
        ("emo_*", "no column begins with 'emo_'"),
        ("x2:fear", "the first column comes after the last"),
        ("joy:9", "there is no column '9'"),
        ([9], "there is no column 9; there are 8 columns"),
        (["joy", 1], "names the column 'joy' twice"),
        (slice(9, 12), "names no column"),
        (",", "names no column"),
        ([], "names no column"),
        ([1.5], "by name, prefix, range or position, got 1.5"),
        ([True], "by name, prefix, range or position"),
    ],
)
def test_invalid_column_selections_raise(choice, message):
    with pytest.raises(TableError, match=message):
        find_columns(NAMES, choice)


def test_duplicate_names_are_selected_by_position():
    with pytest.raises(TableError, match="2 columns are named 'a'; choose by position"):
        find_columns(["a", "a", "b"], "a")
    assert find_columns(["a", "a", "b"], [0, 1]) == [0, 1]


@given(st.lists(st.text(max_size=6), min_size=1, max_size=8, unique=True), st.data())
def test_exact_names_select_exactly_these_columns(names, data):
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    assert [names[i] for i in find_columns(names, chosen)] == chosen


def test_suggested_name_is_quoted_if_necessary():
    with pytest.raises(TableError, match="did you mean \"'sky'\""):
        find_columns(["'sky'", "sea"], "sky")
