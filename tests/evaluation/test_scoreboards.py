"""Scoreboards: the printed summary of a run."""

from synthetic_records import METHODS, make_records

from ldlearn.evaluation import Record, Results, score_tables

# Without DLDL, the method trained on the truth has the best score.
WITHOUT_DLDL = {name: facts for name, facts in METHODS.items() if name != "DLDL"}
RECORDS = make_records({"scut_fbp": ["1", "2", "3"]}, WITHOUT_DLDL, missing=())
BOARDS = score_tables(Results(RECORDS), ["chebyshev", "intersection"])


def test_one_board_per_task_and_data_set_sorted_by_score():
    assert [board.title for board in BOARDS] == ["scut_fbp: recovery", "scut_fbp: prediction"]
    for board in BOARDS:
        formatted = [float(cells[1].text.partition(" ")[0]) for _, cells in board.rows]
        assert formatted == sorted(formatted)
        assert (len(board.head), board.legend) == (3, "")


def test_method_trained_on_truth_is_not_marked_best():
    prediction = BOARDS[1]
    assert prediction.rows[0][1][0].text == "SABFGS on truth (true distributions)"
    for column in (1, 2):
        assert [cells[0].text for _, cells in prediction.rows if cells[column].bold] == [
            "DLDL (paper)"
        ]


def record(method, value, repeat=0, status="ok"):
    scores = {"chebyshev": value, "intersection": None if value is None else 1 - value}
    return Record(
        cell="x", dataset="d", method=method, repeat=repeat, status=status, recovery=scores
    )


def test_entries_are_means_and_deviations_of_finished_repeats():
    records = [record("a", 0.3), record("a", 0.5, 1), record("b", 0.2), record("b", 0.2, 1)]
    records += [record("c", None), record("b", 9.0, 2, status="failed")]
    for metric, first in (("chebyshev", "0.2000 ±0.000"), ("intersection", "0.8000 ±0.000")):
        (board,) = score_tables(Results(records), [metric])
        assert [cells[0].text for _, cells in board.rows] == ["b", "a", "c"]
        texts = [cells[1].text for _, cells in board.rows]
        assert (texts[0], texts[1].partition(" ")[2], texts[2]) == (first, "±0.141", "–")
