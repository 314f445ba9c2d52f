"""Sentences of a report: what they claim must be what the numbers and tests say."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student
from synthetic_records import DATASETS, METHODS, make_records

from ldlearn.evaluation import GridPoint, Results, bonferroni_dunn, difference, friedman
from ldlearn.evaluation.formatting import enumerate_names
from ldlearn.metrics import METRICS
from ldlearn.reporting.selection_summary import how_parameters_were_chosen
from ldlearn.reporting.verdicts import compare_methods, headline, headline_of_dataset, p_text

MANY = {f"set{i}": ["a", "b", "c"] for i in range(8)}
SMALL = Results(make_records(repeats=2))
TABLE = SMALL.table("recovery", METRICS["chebyshev"])
LARGE = Results(make_records(MANY, repeats=1, missing=())).table("recovery", METRICS["chebyshev"])


def table_of(records, metric="chebyshev", task="recovery", **options):
    results = Results(records, **options)
    return results, results.table(task, METRICS[metric])


def changed(records, **scores):
    """Records in which methods have the recovery scores given, whatever the data set; a list goes through repeats."""
    for record in records:
        value = scores[record.method.replace(" ", "_")]
        value = value[record.repeat] if isinstance(value, list) else value
        yield replace(record, recovery={"chebyshev": value})


THREE = {"A": ("joint", False, 0.1, True), "B": ("joint", False, 0.2, True), "UniformLE": ("enhancer", True, 0.3, True)}


def test_the_headline_names_the_best_and_those_below_a_baseline():
    said = headline(SMALL, TABLE)
    best = min(TABLE.average_ranks, key=TABLE.average_ranks.get)
    assert f"{best} has the best average rank, {TABLE.average_ranks[best]:.2f} over 4 data sets." in said
    baseline = min(("UniformLE", "PriorLE"), key=TABLE.average_ranks.get)
    below = [
        m
        for m in ("DLDL", "DLDL (paper)", "L2", "GLLE", "FCM")
        if TABLE.average_ranks[m] >= TABLE.average_ranks[baseline]
    ]
    assert baseline in said[-1]
    assert below
    assert all(name in said[-1] for name in below)


def test_ties_are_told_as_ties():
    records = make_records(methods=THREE, repeats=2)
    results, table = table_of(changed(records, A=0.1, B=0.1, UniformLE=0.4))
    said = headline(results, table)
    assert "A and B share the best average rank, 1.50 over 4 data sets." in said
    assert [each.partition(" is better than the best baseline on 4 of 4")[0] for each in said[:2]] == ["A", "B"]
    assert headline_of_dataset(results, table, "yeast")[0] == "A and B share the best mean on yeast, 0.1000."


def test_effects_come_first_with_the_interval_of_paired_repeats():
    two = dict(list(DATASETS.items())[:2])
    records = make_records(two, THREE, repeats=3)
    results, table = table_of(changed(records, A=[0.10, 0.20, 0.30], B=0.5, UniformLE=[0.11, 0.22, 0.33]))
    gaps, ratio = np.array([0.01, 0.02, 0.03]), 40 / (15 + 15)
    margin = student.ppf(0.975, 2) * gaps.std(ddof=1) * np.sqrt(1 / 3 + ratio)
    effect = f"0.2000 against 0.2200, no clear difference (better by 0.0200 ± {margin:.4f}) (UniformLE)"
    assert headline(results, table)[0] == f"A against the best baseline: natural_scene, {effect}; scut_fbp, {effect}."
    found = difference(results, table, "A", "UniformLE", "scut_fbp")
    assert (found.mean, found.margin, found.n) == (pytest.approx(0.02), pytest.approx(margin), 3)
    assert not found.is_clear
    assert difference(results, table, "UniformLE", "A", "scut_fbp").mean == pytest.approx(-0.02)


def test_with_many_data_sets_effects_are_counted():
    results, table = table_of(changed(make_records(MANY, THREE, repeats=2, missing=()), A=0.1, B=0.5, UniformLE=0.2))
    assert headline(results, table)[0] == (
        "A is better than the best baseline on 8 of 8 data sets, on 8 of them with a 95% interval that leaves out zero."
    )


def test_a_subject_that_is_not_first_is_said_to_be_so():
    records = make_records(methods=THREE, repeats=2)
    results, table = table_of(changed(records, A=0.2, B=0.1, UniformLE=0.4), subject="A")
    assert "A is not first: its average rank is 2.00, with 1 of 3 methods before it." in headline(results, table)
    results, table = table_of(changed(records, A=0.2, B=0.1, UniformLE=0.4), subject="B")
    assert not any("not first" in sentence for sentence in headline(results, table))


def test_a_first_place_comes_with_its_distance_to_the_next():
    two = dict(list(DATASETS.items())[:2])
    records = make_records(two, THREE, repeats=3)
    results, table = table_of(changed(records, A=[0.10, 0.21, 0.30], B=[0.11, 0.20, 0.31], UniformLE=0.5))
    (said,) = [sentence for sentence in headline(results, table) if "the next" in sentence]
    found = difference(results, table, "A", "B", "scut_fbp")
    assert not found.is_clear
    effect = f"0.2033 against 0.2067, no clear difference (better by 0.0033 ± {found.margin:.4f})"
    assert said == f"A against the next, B: natural_scene, {effect}; scut_fbp, {effect}."
    many, table = table_of(changed(make_records(MANY, THREE, repeats=2, missing=()), A=0.1, B=0.2, UniformLE=0.5))
    assert "A is better than the next, B on 8 of 8 data sets, on 8 of them" in " ".join(headline(many, table))


def test_on_one_data_set_nobody_has_an_average_rank():
    one = dict(list(DATASETS.items())[:1])
    results, table = table_of(make_records(one, THREE, repeats=2))
    assert headline(results, table) == headline_of_dataset(results, table, "natural_scene")
    assert not any("average rank" in sentence for sentence in headline(results, table))


def test_names_with_commas_are_told_apart():
    assert enumerate_names(["A", "B", "C"]) == "A, B and C"
    assert enumerate_names(["A, x", "B"]) == "“A, x” and “B”"


def test_a_single_method_is_not_the_best():
    results, table = table_of(make_records(methods={"A": THREE["A"]}, repeats=1))
    (said,) = headline(results, table)
    assert said == "A is the only method with a result on every data set: there is nothing to rank."
    assert "nothing to compare" in headline_of_dataset(results, table, "yeast")[0]


def test_on_a_data_set_a_baseline_may_be_the_best():
    results, table = table_of(changed(make_records(methods=THREE, repeats=2), A=0.3, B=0.5, UniformLE=0.2))
    assert headline_of_dataset(results, table, "yeast") == [
        "UniformLE has the best mean on yeast, 0.2000.",
        "No method does better than that baseline.",
        "Against the next, A: 0.2000 against 0.3000, better by 0.1000 ± 0.0000.",
        "A is not first, but number 2 of 3.",
    ]


def test_without_baselines_nothing_is_said_about_them():
    methods = {name: THREE[name] for name in "AB"}
    assert not any("baseline" in sentence for sentence in headline(*table_of(make_records(methods=methods))))


@pytest.mark.parametrize("metric", ["chebyshev", "intersection"])
def test_a_baseline_that_knows_the_truth_is_compared_without_a_rank(metric):
    methods = {
        "DLDL": ("joint", False, 0.05, True),
        "L2": ("joint", False, 1.0, False),
        "MeanLDL on truth": ("learner", True, 0.5, False),
    }
    assert headline(*table_of(make_records(methods=methods), metric, "prediction"))[-1] == (
        "MeanLDL on truth, a baseline that knows the true distributions, is beaten on every data set by DLDL."
    )


def test_tests_are_those_of_stats():
    verdict = compare_methods(LARGE, "DLDL")
    names = [method.name for method in LARGE.ranked]
    omnibus = friedman(LARGE.matrix()[0], greater_is_better=False, methods=names)
    assert p_text(omnibus.f_p_value) in verdict.sentences[0]
    against = bonferroni_dunn(LARGE.matrix()[0], "DLDL", greater_is_better=False, methods=names)
    worse = [pair.second for pair in against.comparisons if pair.significant]
    assert f"better than {enumerate_names(worse)}" in verdict.sentences[1]
    assert f"{against.critical_difference:.2f}" in verdict.sentences[1]
    assert len(verdict.sentences) == 3


def test_scores_go_to_the_tests_with_their_direction():
    names = [method.name for method in LARGE.ranked]
    scores, columns = LARGE.matrix()
    assert columns == names
    np.testing.assert_allclose(scores, [[LARGE.score(m, d).mean for m in names] for d in LARGE.datasets])
    assert compare_methods(LARGE, None).pairs.average_ranks == pytest.approx(dict(LARGE.average_ranks))


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_data_sets_are_the_one_statement(count):
    few = dict(list(DATASETS.items())[:count])
    verdict = compare_methods(table_of(make_records(few, repeats=1))[1], "DLDL")
    (said,) = verdict.sentences
    assert ("too little for a test" if count == 1 else "2 data sets cannot show which of 7 methods differ") in said
    assert "p =" not in said
    assert verdict.pairs is None


def test_a_rank_over_two_data_sets_is_said_to_show_nothing():
    two = dict(list(DATASETS.items())[:2])
    said = " ".join(headline(*table_of(make_records(two, repeats=1))))
    assert "over 2 data sets, too few for any test of ranks." in said


def test_without_a_difference_no_pair_is_tested():
    rng = np.random.default_rng(0)
    noise = [
        replace(record, recovery={"chebyshev": float(rng.random())}) for record in make_records(MANY, THREE, repeats=1)
    ]
    verdict = compare_methods(table_of(noise)[1], "A")
    (said,) = verdict.sentences
    assert "no difference between the methods is shown" in said
    assert verdict.pairs is None


def test_three_data_sets_that_agree_show_nothing_about_two_methods():
    three = dict(list(DATASETS.items())[:3])
    records = make_records(three, {name: THREE[name] for name in "AB"}, repeats=1, missing=())
    verdict = compare_methods(table_of(changed(records, A=0.1, B=0.2))[1], "A")
    (said,) = verdict.sentences
    assert said.startswith("3 data sets cannot show which of 2 methods differ, whatever the scores")


def test_p_values_are_as_short_as_a_reader_needs():
    assert [p_text(p) for p in (0.0, 2e-8, 0.04)] == ["p < 1e-16", "p = 2e-08", "p = 0.040"]


class TestHowParametersWereChosen:
    def test_budgets_and_truth_are_said(self):
        said = " ".join(how_parameters_were_chosen(SMALL))
        assert "the true distributions of the validation rows, which nobody has who has only 0/1 labels" in said
        assert "18 for DLDL, DLDL (paper) and L2; 1 (nothing to choose) for GLLE" in said

    def test_of_many_budgets_the_range_is_said(self):
        grid = [GridPoint({"k": k}, 0.1, 0.1) for k in range(9)]
        sizes = {name: place + 2 for place, name in enumerate(METHODS)}
        records = [
            replace(r, grid=grid[: sizes[r.method]], n_points=min(9, sizes[r.method])) for r in make_records(missing=())
        ]
        said = how_parameters_were_chosen(Results(records))[-1]
        assert said.endswith(": 2 for DLDL, from 2 to 9 for the others; the last section lists them.")

    def test_equal_budgets_are_said_too(self):
        records = [record for record in make_records() if record.method.startswith("DLDL")]
        assert how_parameters_were_chosen(Results(records))[-1] == "Every method had 18 grid points."

    def test_nothing_to_choose(self):
        records = [record for record in make_records() if not record.grid]
        (said,) = how_parameters_were_chosen(Results(records))
        assert said.startswith("Nothing was tuned")

    def test_labels_alone(self):
        chosen = {"mode": "logical", "recovery": "kl_divergence", "prediction": "kl_divergence"}
        said = how_parameters_were_chosen(Results(replace(record, selection=chosen) for record in make_records()))
        assert said[0].startswith("Parameters were chosen by the 0/1 labels of validation rows alone (")

    def test_recovery_judged_on_different_rows_is_said(self):
        basis = {"DLDL": "validation rows, enhanced", "L2": "training rows"}
        records = [
            replace(record, selection=record.selection | {"recovery_basis": basis[record.method]})
            for record in make_records()
            if record.method in basis and record.status == "ok"
        ]
        said = how_parameters_were_chosen(Results(records))
        assert "the validation rows for DLDL, the training rows for L2 (Chebyshev)" in said[0]
        assert said[1].startswith("Recovery is scored on training rows, so where they also chose")
        assert said[2] == "So recovery was not chosen on the same rows for all methods."

    def test_validation_rows_are_the_same_rows_whether_enhanced_or_fitted_again(self):
        basis = {"DLDL": "validation rows, enhanced", "L2": "validation rows, fitted again"}
        records = [
            replace(record, selection=record.selection | {"recovery_basis": basis[record.method]})
            for record in make_records()
            if record.method in basis and record.status == "ok"
        ]
        said = how_parameters_were_chosen(Results(records))
        assert said[0].endswith("which nobody has who has only 0/1 labels (Chebyshev).")
        assert len(said) == 2
        mixed = [replace(record, selection=record.selection | {"prediction": "clark"}) for record in records]
        assert how_parameters_were_chosen(Results(mixed))[0].endswith(
            "labels (Chebyshev for recovery, Clark for prediction)."
        )

    def test_metrics_that_chose_for_themselves_are_said(self):
        own = {"per_metric": True}
        said = how_parameters_were_chosen(
            Results(replace(record, selection=record.selection | own) for record in make_records(missing=()))
        )
        assert said[0].endswith("labels (every metric chose for itself).")

    def test_a_budget_is_said_and_who_could_not_use_it(self):
        records = [replace(r, selection=r.selection | {"budget": 18}) for r in make_records(missing=())]
        records = [replace(r, grid=r.grid[:7], n_points=7) if r.method == "L2" else r for r in records]
        assert how_parameters_were_chosen(Results(records))[-1].startswith(
            "Every method had the same budget, 18 points drawn from its grid; grids with fewer were used whole: "
            "7 for L2; 1 (nothing to choose) for GLLE, "
        )
