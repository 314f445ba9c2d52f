"""The summary of records: means, standard deviations, ranks and unranked methods."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from synthetic_records import make_records

from ldlearn.evaluation import Record, Results, best_baselines, costs
from ldlearn.evaluation.formatting import enumerate_names, format_duration, plural
from ldlearn.metrics import METRICS
from ldlearn.reporting.run_summary import selected_parameters, summarize_convergence, summarize_run

RECORDS = make_records(repeats=3)
RESULTS = Results(RECORDS)


def scores(method, dataset, task="recovery", metric="chebyshev"):
    mine = [r for r in RECORDS if (r.method, r.dataset) == (method, dataset)]
    return np.array([r.scores(task)[metric] for r in mine])


def table(results=RESULTS, task="recovery", metric="chebyshev"):
    return results.table(task, METRICS[metric])


def test_cells_are_mean_and_sample_deviation_over_repeats():
    cell = table().score("GLLE", "yeast")
    values = scores("GLLE", "yeast")
    assert cell.spread.mean == pytest.approx(values.mean())
    assert cell.spread.std == pytest.approx(np.sqrt(((values - values.mean()) ** 2).sum() / 2))
    assert cell.spread.n == 3


@pytest.mark.parametrize("metric", ["chebyshev", "intersection"])
def test_rank_is_one_plus_the_number_of_better_methods(metric):
    formatted = table(metric=metric)
    sign = -1 if METRICS[metric].greater_is_better else 1
    for dataset in formatted.datasets:
        means = {
            m.name: sign * scores(m.name, dataset, metric=metric).mean() for m in formatted.methods
        }
        for name, mean in means.items():
            cell = formatted.score(name, dataset)
            assert cell.rank == 1 + sum(other < mean for other in means.values())
            assert cell.best == (cell.rank == 1)


def test_rows_are_ordered_by_average_rank():
    formatted = table()
    averages = [formatted.average_ranks[method.name] for method in formatted.methods]
    assert averages == sorted(averages)
    assert averages[0] == np.mean(
        [formatted.score(formatted.methods[0].name, d).rank for d in formatted.datasets]
    )


def test_method_trained_on_truth_is_last_and_not_ranked():
    formatted = table(task="prediction")
    last = formatted.methods[-1]
    assert (last.name, last.is_reference) == ("SABFGS on truth", True)
    assert last.name not in formatted.average_ranks
    assert formatted.score(last.name, "yeast").spread
    assert formatted.score(last.name, "yeast").rank is None
    assert sorted(formatted.score(m.name, "yeast").rank for m in formatted.ranked) == list(
        range(1, len(formatted.ranked) + 1)
    )


LEARNERS = {"SABFGS": ("learner", False, 0.1, False), "AAKNN": ("learner", False, 0.4, False)}
LEARNERS["MeanLDL"] = ("learner", True, 0.6, False)


def test_learners_are_ranked_if_there_are_no_other_methods():
    results = Results(make_records(methods=LEARNERS, repeats=2))
    formatted = table(results, task="prediction")
    assert [method.name for method in formatted.ranked] == ["SABFGS", "AAKNN", "MeanLDL"]
    assert formatted.baselines == ["MeanLDL"]
    assert results.subject == "SABFGS"
    for dataset in formatted.datasets:
        cells = [formatted.score(name, dataset) for name in LEARNERS]
        assert sorted(cell.rank for cell in cells) == [1, 2, 3]
        assert [cell.best for cell in cells].count(True) == 1
    # one other method is enough: learners have an advantage over it, even if it is a baseline or
    # does not predict
    mixed = Results(
        make_records(methods=LEARNERS | {"UniformLE": ("enhancer", True, 0.3, True)}, repeats=2)
    )
    assert table(mixed, task="prediction").ranked == []
    assert [mixed.methods[name].is_reference for name in LEARNERS] == [True] * 3


def test_failed_repeat_removes_the_rank_but_not_the_score():
    results = Results(make_records(repeats=3, failed=[("yeast", "GLLE")]))
    formatted = table(results)
    cell = formatted.score("GLLE", "yeast")
    assert (cell.n_failed, cell.spread.n, cell.rank) == (1, 2, None)
    assert cell.spread.mean == pytest.approx(scores("GLLE", "yeast")[:2].mean())
    assert "GLLE" not in formatted.average_ranks
    # the others are ranked without it
    assert {formatted.score(m.name, "scut_fbp").rank for m in formatted.ranked} == {
        1,
        2,
        3,
        4,
        5,
        6,
    }
    assert [r.method for r in results.failures] == ["GLLE"]


def test_later_record_replaces_an_earlier_one():
    again = replace(RECORDS[0], recovery=RECORDS[0].recovery | {"chebyshev": 9.0})
    results = Results([*RECORDS, again])
    values = scores("DLDL", "natural_scene")
    assert table(results).score("DLDL", "natural_scene").spread.mean == pytest.approx(
        (9 + values[1:].sum()) / 3
    )


def test_missing_data_set_is_listed_and_left_out_of_tables():
    assert [(d.name, "not on this machine" in d.missing) for d in RESULTS.missing_datasets] == [
        ("raf_ml", True)
    ]
    assert "raf_ml" not in table().datasets
    assert [d.name for d in RESULTS.datasets][-1] == "raf_ml"


def test_headline_metrics_come_first_and_all_others_follow():
    results = Results(RECORDS, headline=["intersection", "cosine"])
    assert [m.name for m in results.headline_metrics] == ["intersection", "cosine"]
    assert [m.name for m in results.metrics[:2]] == ["intersection", "cosine"]
    assert {m.name for m in results.metrics} == set(RECORDS[0].recovery)


def test_non_numeric_values_are_not_scores():
    broken = [replace(r, recovery=r.recovery and dict.fromkeys(r.recovery)) for r in RECORDS]
    assert table(Results(broken)) is None


def test_one_repeat_has_no_deviation():
    cell = table(Results(make_records(repeats=1))).score("DLDL", "yeast")
    assert np.isnan(cell.spread.std)
    assert cell.spread.n == 1


def test_equal_scores_share_a_rank():
    same = [replace(r, recovery=r.recovery | {"chebyshev": 0.5}) for r in RECORDS if r.recovery]
    assert {cell.rank for cell in table(Results(same)).scores.values()} == {4.0}


def test_costs_are_means_sorted_by_time():
    found = costs(RESULTS)
    assert found[0].method.name == "DLDL"
    assert found[0].seconds["fit"].mean == pytest.approx(0.11)
    assert found[0].memory.mean == pytest.approx(150)
    assert found[0].n_cells == 12
    enhancer = next(cost for cost in found if cost.method.name == "GLLE")
    assert not enhancer.seconds["predict"]


def test_convergence_gives_iterations_last_value_and_gap():
    entry = next(summarize_convergence(RESULTS))
    mine = [
        r.convergence for r in RECORDS if (r.method, r.dataset) == (entry.method, entry.dataset)
    ]
    assert entry.steps.mean == 10
    assert entry.objective.mean == pytest.approx(np.mean([run.objective[-1] for run in mine]))
    assert entry.gap.mean == pytest.approx(np.mean([run.gap for run in mine]))


def test_selected_values_are_counted_over_repeats():
    found = selected_parameters(RESULTS)
    counts = found["DLDL", "yeast", "recovery"]
    assert set(counts) == {"alpha", "beta", "gamma"}
    assert all(sum(by_value.values()) == 3 for by_value in counts.values())
    assert ("GLLE", "yeast", "recovery") not in found


def test_run_is_summarised_from_the_records():
    records = make_records(repeats=3, failed=[("yeast", "FCM")])
    records[0] = replace(
        records[0], warnings=["did not converge"], versions={"numpy": "1.26"}, seed=7
    )
    run = summarize_run(Results(records))
    assert (run.n_ok, run.n_failed, run.n_missing) == (131, 1, 11)
    assert list(run.versions["numpy"]) == ["1.26", "2.1.0"]
    assert run.seeds == [0, 1, 2, 7]
    assert run.repeats == 3
    assert run.warnings == [("DLDL: did not converge", 1)]
    # the selection includes the other phases
    expected = sum(r.seconds["select"] for r in records if r.status != "missing")
    assert run.seconds == pytest.approx(expected)


def test_shared_computing_time_is_counted_once():
    records = make_records({"yeast": ["a", "b"]}, repeats=1, missing=())[:2]
    both = [replace(record, seconds=record.seconds | {"total": 3.0}) for record in records]
    assert summarize_run(Results(both)).seconds == 6.0


def test_score_matrix_of_ranked_methods():
    formatted = table(task="prediction")
    scores = formatted.ranking.values
    names = list(formatted.ranking.methods)
    assert names == [method.name for method in formatted.ranked]
    assert scores.shape == (4, len(names))
    place = names.index("DLDL")
    assert scores[0, place] == formatted.score("DLDL", formatted.datasets[0]).mean


def test_subject_is_given_or_the_first_ranked_method():
    assert RESULTS.subject == "DLDL"
    assert Results(RECORDS, subject="GLLE").subject == "GLLE"
    assert Results(RECORDS, subject="gone").subject == "DLDL"
    others = [r for r in RECORDS if r.method in ("UniformLE", "SABFGS on truth")]
    assert Results(others).subject is None


def test_formats_of_numbers_and_names():
    assert (plural(1, "data set"), plural(2, "data set")) == ("1 data set", "2 data sets")
    assert enumerate_names(["A"]) == "A"
    assert enumerate_names(["A", "B", "C"]) == "A, B and C"
    assert [format_duration(s) for s in (0.2, 65, 3725)] == ["0 s", "1 min 05 s", "1 h 02 min"]


def test_best_baselines_are_found_under_any_name():
    """numpy would drop the null character."""
    records = []
    for dataset, method in product(("d", "e"), ("A\0", "B\0", "C")):
        scores = {"chebyshev": 0.1 if method == "A\0" else 0.2}
        records.append(
            Record(
                cell=f"{dataset}{method}",
                dataset=dataset,
                method=method,
                repeat=0,
                status="ok",
                is_baseline=method != "C",
                prediction=scores,
            )
        )
    found = Results(records).table("prediction", METRICS["chebyshev"])
    assert best_baselines(found) == {"d": "A\0", "e": "A\0"}
