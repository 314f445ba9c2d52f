"""Conclusions of a report agree with scores and statistical tests."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student
from synthetic_records import DATASETS, METHODS, make_records

from ldlearn.evaluation import GridPoint, Results, bonferroni_dunn, difference, friedman
from ldlearn.evaluation.formatting import enumerate_names
from ldlearn.metrics import METRICS
from ldlearn.reporting.conclusions import (
    _format_p,
    compare_average_ranks,
    compare_with_baseline,
    summarize,
    summarize_dataset,
)
from ldlearn.reporting.run_summary import describe_selection

MANY = {f"set{i}": ["a", "b", "c"] for i in range(8)}
SMALL = Results(make_records(repeats=2))
TABLE = SMALL.table("recovery", METRICS["chebyshev"])
LARGE = Results(make_records(MANY, repeats=1, missing=())).table("recovery", METRICS["chebyshev"])


def table_of(records, metric="chebyshev", task="recovery", **options):
    results = Results(records, **options)
    return results, results.table(task, METRICS[metric])


def with_scores(records, **scores):
    """Records with given recovery scores of methods for all data sets; a list has one score per
    repeat."""
    for record in records:
        value = scores[record.method.replace(" ", "_")]
        value = value[record.repeat] if isinstance(value, list) else value
        yield replace(record, recovery={"chebyshev": value})


THREE = {
    "A": ("joint", False, 0.1, True),
    "B": ("joint", False, 0.2, True),
    "UniformLE": ("enhancer", True, 0.3, True),
}


def test_summary_names_the_best_and_methods_below_a_baseline():
    sentences = summarize(SMALL, TABLE)
    best = min(TABLE.average_ranks, key=TABLE.average_ranks.get)
    assert (
        f"{best} has the best average rank, {TABLE.average_ranks[best]:.2f} over 4 data sets."
        in sentences
    )
    baseline = min(("UniformLE", "PriorLE"), key=TABLE.average_ranks.get)
    below = [
        m
        for m in ("DLDL", "DLDL (paper)", "L2", "GLLE", "FCM")
        if TABLE.average_ranks[m] >= TABLE.average_ranks[baseline]
    ]
    assert baseline in sentences[-1]
    assert below
    assert all(name in sentences[-1] for name in below)


def with_intersection(**scores):
    """Two data sets in which methods have these intersections in each of two repeats."""
    methods = {name: THREE[name] for name in scores}
    for record in make_records({"x": ["a", "b"]}, methods, repeats=2, missing=()):
        yield replace(record, recovery={"intersection": scores[record.method][record.repeat]})


@pytest.mark.parametrize(
    ("scores", "claim"), [([0.64, 0.65], "significant"), ([0.51, 0.76], "not significant")]
)
def test_comparison_with_the_baseline_is_in_percent(scores, claim):
    results, table = table_of(with_intersection(A=scores, UniformLE=[0.5, 0.51]), "intersection")
    text = compare_with_baseline(results, table, "x")
    own = f"{50 * sum(scores):.0f}"
    assert text.startswith(f"On labelled rows of x A shares {own} % of the mass with the truth")
    assert "the best baseline (UniformLE) 50 %" in text or "51 %" in text
    assert text.endswith(f"the difference is {claim}.")


def test_comparison_is_about_the_subject_of_the_plan():
    scores = {"A": [0.5, 0.5], "B": [0.9, 0.9], "UniformLE": [0.7, 0.7]}
    results, table = table_of(with_intersection(**scores), "intersection", subject="A")
    assert "A shares 50 %" in compare_with_baseline(results, table, "x")
    one_repeat = [
        record for record in with_intersection(A=[0.5, 0], UniformLE=[0.4, 0]) if record.repeat == 0
    ]
    assert "too few" in compare_with_baseline(*table_of(one_repeat, "intersection"), "x")


def test_tied_methods_are_listed():
    records = make_records(methods=THREE, repeats=2)
    results, table = table_of(with_scores(records, A=0.1, B=0.1, UniformLE=0.4))
    sentences = summarize(results, table)
    assert any(
        sentence.startswith("A and B share the best average rank, 1.50") for sentence in sentences
    )
    assert [
        each.partition(" is better than the best baseline on 4 of 4")[0] for each in sentences[:2]
    ] == ["A", "B"]
    assert summarize_dataset(results, table, "yeast")[0].startswith("A and B share the best mean")


def test_effects_have_intervals_of_paired_repeats():
    two = dict(list(DATASETS.items())[:2])
    records = make_records(two, THREE, repeats=3)
    results, table = table_of(
        with_scores(records, A=[0.10, 0.20, 0.30], B=0.5, UniformLE=[0.11, 0.22, 0.33])
    )
    gaps, ratio = np.array([0.01, 0.02, 0.03]), 40 / (15 + 15)
    margin = student.ppf(0.975, 2) * gaps.std(ddof=1) * np.sqrt(1 / 3 + ratio)
    assert summarize(results, table)[0].startswith(
        "A is better than the best baseline on 2 of 2 data sets"
    )
    assert "zero on 0 of them" in summarize(results, table)[0]
    text = " ".join(summarize_dataset(results, table, "scut_fbp"))
    assert (
        f"UniformLE: 0.2000 against 0.2200, better by 0.0200 ± {margin:.4f}, not significant."
        in text
    )
    found = difference(results, table, "A", "UniformLE", "scut_fbp")
    assert (found.mean, found.margin, found.n) == (pytest.approx(0.02), pytest.approx(margin), 3)
    assert not found.is_significant
    assert difference(results, table, "UniformLE", "A", "scut_fbp").mean == pytest.approx(-0.02)


def test_with_many_data_sets_effects_are_counted():
    results, table = table_of(
        with_scores(make_records(MANY, THREE, repeats=2, missing=()), A=0.1, B=0.5, UniformLE=0.2)
    )
    text = summarize(results, table)[0]
    assert text.startswith("A is better than the best baseline on 8 of 8 data sets")
    assert text.endswith("95% interval of the difference excludes zero on 8 of them.")


def test_subject_that_is_not_the_best_is_reported():
    records = make_records(methods=THREE, repeats=2)
    results, table = table_of(with_scores(records, A=0.2, B=0.1, UniformLE=0.4), subject="A")
    (sentence,) = [text for text in summarize(results, table) if text.startswith("A is not first")]
    assert "number 2 of 3" in sentence
    assert "2.00" in sentence
    results, table = table_of(with_scores(records, A=0.2, B=0.1, UniformLE=0.4), subject="B")
    assert not any("not first" in sentence for sentence in summarize(results, table))


def test_best_method_is_compared_with_the_second():
    two = dict(list(DATASETS.items())[:2])
    records = make_records(two, THREE, repeats=3)
    results, table = table_of(
        with_scores(records, A=[0.10, 0.21, 0.30], B=[0.11, 0.20, 0.31], UniformLE=0.5)
    )
    (text,) = [sentence for sentence in summarize(results, table) if "the next" in sentence]
    assert text.startswith("A is better than the next, B, on 2 of 2 data sets")
    assert text.endswith("zero on 0 of them.")
    found = difference(results, table, "A", "B", "scut_fbp")
    assert not found.is_significant
    effect = f"0.2033 against 0.2067, better by 0.0033 ± {found.margin:.4f}, not significant"
    assert f"A against the next, B: {effect}." in summarize_dataset(results, table, "scut_fbp")
    many, table = table_of(
        with_scores(make_records(MANY, THREE, repeats=2, missing=()), A=0.1, B=0.2, UniformLE=0.5)
    )
    assert "A is better than the next, B, on 8 of 8 data sets" in " ".join(summarize(many, table))


def test_no_average_ranks_for_one_data_set():
    one = dict(list(DATASETS.items())[:1])
    results, table = table_of(make_records(one, THREE, repeats=2))
    assert summarize(results, table) == summarize_dataset(results, table, "natural_scene")
    assert not any("average rank" in sentence for sentence in summarize(results, table))


def test_names_with_commas_are_quoted():
    assert enumerate_names(["A", "B", "C"]) == "A, B and C"
    assert enumerate_names(["A, x", "B"]) == "“A, x” and “B”"


def test_single_method_is_not_the_best():
    results, table = table_of(make_records(methods={"A": THREE["A"]}, repeats=1))
    (text,) = summarize(results, table)
    assert "Fewer than two methods have a result on every data set" in text
    assert "nothing to compare" in summarize_dataset(results, table, "yeast")[0]


def test_baseline_may_be_the_best_of_a_data_set():
    results, table = table_of(
        with_scores(make_records(methods=THREE, repeats=2), A=0.3, B=0.5, UniformLE=0.2)
    )
    best, baseline, effect, rank = summarize_dataset(results, table, "yeast")
    assert best.startswith("UniformLE has the best mean on yeast")
    assert "0.2000" in best
    assert "No method is better" in baseline
    assert "0.2000 against 0.3000, better by 0.1000" in effect
    assert rank.startswith("A is not first: number 2 of 3")


def test_no_statement_about_baselines_without_baselines():
    methods = {name: THREE[name] for name in "AB"}
    assert not any(
        "baseline" in sentence for sentence in summarize(*table_of(make_records(methods=methods)))
    )


def test_conclusions_use_the_tests_of_evaluation():
    conclusion = compare_average_ranks(LARGE, "DLDL")
    names = [method.name for method in LARGE.ranked]
    omnibus = friedman(LARGE.ranking.values, greater_is_better=False, methods=names)
    assert _format_p(omnibus.f_p_value) in conclusion.sentences[0]
    against = bonferroni_dunn(LARGE.ranking.values, "DLDL", greater_is_better=False, methods=names)
    worse = [pair.second for pair in against.comparisons if pair.significant]
    assert f"better than {enumerate_names(worse)}" in conclusion.sentences[1]
    assert f"{against.critical_difference:.2f}" in conclusion.sentences[1]
    assert len(conclusion.sentences) == 3


def test_tests_respect_the_direction_of_the_metric():
    names = [method.name for method in LARGE.ranked]
    scores = LARGE.ranking.values
    assert list(LARGE.ranking.methods) == names
    np.testing.assert_allclose(
        scores, [[LARGE.score(m, d).mean for m in names] for d in LARGE.datasets]
    )
    assert compare_average_ranks(LARGE, None).pairs.average_ranks == pytest.approx(
        dict(LARGE.average_ranks)
    )


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_data_sets_for_a_test(count):
    few = dict(list(DATASETS.items())[:count])
    conclusion = compare_average_ranks(table_of(make_records(few, repeats=1))[1], "DLDL")
    (text,) = conclusion.sentences
    assert f"7 ranked methods on {count} data set" in text
    assert "too few" in text
    assert "p =" not in text
    assert conclusion.pairs is None


def test_ranks_over_two_data_sets_are_reported_as_too_few():
    two = dict(list(DATASETS.items())[:2])
    text = " ".join(summarize(*table_of(make_records(two, repeats=1))))
    assert "over 2 data sets, too few for a test of ranks." in text


def test_no_pairwise_tests_without_an_omnibus_difference():
    rng = np.random.default_rng(0)
    noise = [
        replace(record, recovery={"chebyshev": float(rng.random())})
        for record in make_records(MANY, THREE, repeats=1)
    ]
    conclusion = compare_average_ranks(table_of(noise)[1], "A")
    (text,) = conclusion.sentences
    assert "no significant difference" in text
    assert conclusion.pairs is None


@pytest.mark.parametrize(
    ("ranks", "subject", "pairs_differ"),
    [
        ([(1, 2, 3), (1, 2, 3), (1, 3, 2), (1, 3, 2)], "A", False),
        ([(1, 2, 3)] * 4 + [(1, 3, 2), (2, 3, 1)], "B", False),
        ([(1, 2, 3)] * 4 + [(1, 3, 2), (2, 3, 1)], None, False),
        ([(1, 2, 3)] * 4 + [(1, 3, 2), (2, 3, 1)], "A", True),  # only by the test of the subject
        ([(1, 2, 3)] * 8, None, True),
    ],
)
def test_friedman_conclusion_agrees_with_pairwise_tests(ranks, subject, pairs_differ):
    records = make_records(
        {str(i): ["a", "b"] for i in range(len(ranks))}, THREE, repeats=1, missing=()
    )
    places = [dict(zip(THREE, row, strict=True)) for row in ranks]
    records = [
        replace(r, recovery={"chebyshev": float(places[int(r.dataset)][r.method])}) for r in records
    ]
    first, *others = compare_average_ranks(table_of(records)[1], subject).sentences
    assert "Friedman" in first
    assert "not all equal" in first
    assert ("do not show which" in first) is not pairs_differ
    assert len(others) == (1 if subject is None else 2)
    assert ("0 of 3 pairs" in others[-1]) is (len(ranks) < 8)


def test_three_data_sets_are_too_few_for_two_methods():
    three = dict(list(DATASETS.items())[:3])
    records = make_records(three, {name: THREE[name] for name in "AB"}, repeats=1, missing=())
    conclusion = compare_average_ranks(table_of(with_scores(records, A=0.1, B=0.2))[1], "A")
    (text,) = conclusion.sentences
    assert text.startswith(
        "2 ranked methods on 3 data sets: too few data sets for a significant difference"
    )


def test_format_of_p_values():
    assert [_format_p(p) for p in (0.0, 2e-8, 0.04)] == ["p < 1e-16", "p = 2e-08", "p = 0.040"]


class TestDescribeSelection:
    def test_grid_sizes_and_selection_by_true_distributions(self):
        text = " ".join(describe_selection(SMALL))
        assert "selected by true distributions" in text
        assert "those of the validation rows" in text
        assert "18 for DLDL, 1 to 18 for the others" in text

    def test_range_of_many_grid_sizes(self):
        grid = [GridPoint({"k": k}, 0.1, 0.1) for k in range(9)]
        sizes = {name: place + 2 for place, name in enumerate(METHODS)}
        records = [
            replace(r, grid=grid[: sizes[r.method]], n_points=min(9, sizes[r.method]))
            for r in make_records(missing=())
        ]
        assert "2 for DLDL, 2 to 9 for the others" in describe_selection(Results(records))[-1]

    def test_equal_grid_sizes(self):
        records = [record for record in make_records() if record.method.startswith("DLDL")]
        assert "Every method had 18" in describe_selection(Results(records))[-1]

    def test_nothing_to_select(self):
        records = [record for record in make_records() if not record.grid]
        (text,) = describe_selection(Results(records))
        assert text.startswith("No hyperparameter was tuned")

    def test_selection_by_logical_labels(self):
        chosen = {"mode": "logical", "recovery": "kl_divergence", "prediction": "kl_divergence"}
        sentences = describe_selection(
            Results(replace(record, selection=chosen) for record in make_records())
        )
        assert "0/1 labels of validation rows only" in sentences[0]

    @staticmethod
    def results_with_basis(basis, **selection):
        return Results(
            replace(
                record,
                selection=record.selection | {"recovery_basis": basis[record.method]} | selection,
            )
            for record in make_records()
            if record.method in basis and record.status == "ok"
        )

    def test_selection_on_the_scored_rows_is_reported_as_optimistic(self):
        sentences = describe_selection(
            self.results_with_basis(dict.fromkeys(("DLDL", "L2"), "training rows"))
        )
        assert (
            "validation rows for prediction, of the training rows for recovery (Chebyshev)"
            in sentences[0]
        )
        assert "optimistic" in sentences[1]

    def test_selection_on_validation_rows(self):
        basis = dict.fromkeys(("DLDL", "L2"), "validation rows")
        sentences = describe_selection(self.results_with_basis(basis))
        assert sentences[0].endswith("those of the validation rows (Chebyshev).")
        assert len(sentences) == 2
        mixed = describe_selection(self.results_with_basis(basis, prediction="clark"))
        assert mixed[0].endswith("(Chebyshev for recovery, Clark for prediction).")

    def test_selection_for_each_metric_separately(self):
        own = {"per_metric": True}
        records = [
            replace(record, selection=record.selection | own) for record in make_records(missing=())
        ]
        assert "(each metric for itself)" in describe_selection(Results(records))[0]

    def test_selection_with_a_budget(self):
        records = [
            replace(r, selection=r.selection | {"budget": 18}) for r in make_records(missing=())
        ]
        records = [
            replace(r, grid=r.grid[:7], n_points=7) if r.method == "L2" else r for r in records
        ]
        assert "budget of 18 grid points" in describe_selection(Results(records))[-1]
