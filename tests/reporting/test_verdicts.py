"""Sentences of a report: what they claim must be what the numbers and tests say."""

import numpy as np
import pytest
from synthetic_records import DATASETS, make_records

from ldlearn.metrics import METRICS
from ldlearn.reporting.verdicts import compare_methods, headline, p_text
from ldlearn.results import Results
from ldlearn.results.wording import enumerate_names
from ldlearn.stats import bonferroni_dunn, friedman

MANY = {f"set{i}": ["a", "b", "c"] for i in range(8)}
TABLE = Results(make_records(repeats=2)).table("recovery", METRICS["chebyshev"])
LARGE = Results(make_records(MANY, repeats=1, missing=())).table("recovery", METRICS["chebyshev"])


def test_the_headline_names_the_best_and_those_below_a_floor():
    first, second = headline(TABLE)
    best = min(TABLE.average_ranks, key=TABLE.average_ranks.get)
    assert first.startswith(f"{best} has the best average rank, {TABLE.average_ranks[best]:.2f} over 4 data sets")
    floor = min(("UniformLE", "PriorLE"), key=TABLE.average_ranks.get)
    below = [
        m for m in ("DLDL", "DLDL (paper)", "L2", "GLLE", "FCM") if TABLE.average_ranks[m] >= TABLE.average_ranks[floor]
    ]
    assert floor in second
    assert below
    assert all(name in second for name in below)


def test_without_floors_nothing_is_said_about_them():
    methods = {"A": ("joint", False, 0.1, True), "B": ("joint", False, 0.5, True)}
    table = Results(make_records(methods=methods)).table("recovery", METRICS["chebyshev"])
    assert len(headline(table)) == 1


@pytest.mark.parametrize("metric", ["chebyshev", "intersection"])
def test_a_floor_that_knows_the_truth_is_compared_without_a_rank(metric):
    methods = {
        "DLDL": ("joint", False, 0.05, True),
        "L2": ("joint", False, 1.0, False),
        "MeanLDL on truth": ("learner", True, 0.5, False),
    }
    table = Results(make_records(methods=methods)).table("prediction", METRICS[metric])
    assert headline(table)[1] == (
        "MeanLDL on truth, a floor that knows the true distributions, is beaten on every data set by DLDL."
    )


def test_tests_are_those_of_stats():
    verdict = compare_methods(LARGE, "DLDL")
    names = [method.name for method in LARGE.ranked]
    omnibus = friedman(LARGE.matrix()[0], greater_is_better=False, methods=names)
    assert p_text(omnibus.f_p_value) in verdict.sentences[0]
    against = bonferroni_dunn(LARGE.matrix()[0], "DLDL", greater_is_better=False, methods=names)
    worse = [pair.second for pair in against.comparisons if pair.significant]
    assert f"better than {enumerate_names(worse)}" in verdict.sentences[2]
    assert f"{against.critical_difference:.2f}" in verdict.sentences[2]
    assert verdict.cautions == []


def test_scores_go_to_the_tests_with_their_direction():
    names = [method.name for method in LARGE.ranked]
    scores, columns = LARGE.matrix()
    assert columns == names
    np.testing.assert_allclose(scores, [[LARGE.score(m, d).mean for m in names] for d in LARGE.datasets])
    assert compare_methods(LARGE, None).pairs.average_ranks == pytest.approx(dict(LARGE.average_ranks))


def test_too_few_data_sets_become_a_caution_in_words():
    two = dict(list(DATASETS.items())[:2])
    table = Results(make_records(two, repeats=1)).table("recovery", METRICS["chebyshev"])
    verdict = compare_methods(table, "DLDL")
    assert any("too few" in caution for caution in verdict.cautions)
    one = dict(list(DATASETS.items())[:1])
    verdict = compare_methods(Results(make_records(one)).table("recovery", METRICS["chebyshev"]), "DLDL")
    assert verdict.pairs is None
    assert verdict.cautions == ["7 ranked methods on 1 data set: too little for a test."]


def test_p_values_are_as_short_as_a_reader_needs():
    assert [p_text(p) for p in (0.0, 2e-8, 0.04)] == ["p < 1e-16", "p = 2e-08", "p = 0.040"]
