"""The audit: every reported number is recomputed independently."""

import csv
import math
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from shared_data import SHARED, shared_file

from ldlearn.core import binarize
from ldlearn.datasets import read_dataset
from ldlearn.exceptions import ParameterError
from research.paper import Finding, audit_paper
from research.paper.audit import CHECKS
from research.paper.printed_tables import PaperDataset, printed_cells

METHODS = ["DLDL", "L2", "FLE", "GLLE", "LEMLL", "LESC", "FCM"]
DATASETS = ["NS", "SCUT", "RAF", "FBP", "REN", "Twitter"]
METRICS = ["Chebyshev", "Clark", "One-error", "Intersection"]
RANKED = ["1", "S3", "2", "S4", "S5"]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "research" / "audit.md"
DEVIATIONS_IN = {"1": "S3", "2": "S4"}


def read_cells():
    folder = files("research.paper").joinpath("data")
    names = ("recovery", "predictive", "predictive_ldlsf", "ablation")
    rows = [
        row
        for n in names
        for row in csv.DictReader((folder / f"{n}.csv").read_text("utf-8").splitlines())
    ]
    return {(row["table"], row["metric"], row["dataset"], row["method"]): row for row in rows}


CELLS = read_cells()
FINDINGS = {finding.id: finding for finding in audit_paper()}


def mean(*where):
    return float(CELLS[where]["mean"])


def correct_rank(table, metric, dataset, method):
    """One more than the number of methods that are better, or equal with a smaller deviation."""
    sign = -1 if metric == "Intersection" else 1

    def order(m):
        deviation = CELLS[DEVIATIONS_IN.get(table, table), metric, dataset, m]["std"]
        return sign * mean(table, metric, dataset, m), float(deviation or 0)

    return 1 + sum(order(other) < order(method) for other in METHODS)


def correct_average(table, metric, method):
    return sum(correct_rank(table, metric, dataset, method) for dataset in DATASETS) / 6


def change_cell(where, column, value):
    """The printed cells with one of them changed."""
    cells = [
        cell._replace(**{column: value}) if cell[:4] == where else cell for cell in printed_cells()
    ]
    assert cells != list(printed_cells())
    return cells


def ids(cells=None, only=None):
    return {finding.id for finding in audit_paper(only, cells=cells)}


class TestRanks:
    @pytest.mark.parametrize("table", RANKED)
    def test_lists_every_wrong_rank_and_no_other(self, table):
        expected = {
            f"{metric}, {dataset}: {method} {CELLS[table, metric, dataset, method]['mean']}, "
            f"printed {CELLS[table, metric, dataset, method]['rank']}, right {right}"
            for metric in METRICS
            for dataset in DATASETS
            for method in METHODS
            if (right := correct_rank(table, metric, dataset, method))
            != int(CELLS[table, metric, dataset, method]["rank"])
        }
        assert len(expected) == {"1": 2, "S3": 0, "2": 7, "S4": 7, "S5": 46}[table]
        finding = FINDINGS.get(f"ranks/{table}")
        assert set(finding.details if finding else ()) == expected
        assert finding is None or f"{len(expected)} of its 168 ranks" in finding.truth

    @pytest.mark.parametrize("table", RANKED)
    def test_lists_every_wrong_average_and_no_other(self, table):
        expected = set()
        for metric in METRICS:
            averages = {method: correct_average(table, metric, method) for method in METHODS}
            for method, average in averages.items():
                place = 1 + sum(other < average - 1e-9 for other in averages.values())
                cell = CELLS[table, metric, "Avg.Rank", method]
                printed, right = f"{cell['mean']} ({cell['rank']})", f"{average:.2f} ({place})"
                if printed != right:
                    expected.add(f"{metric}: {method} printed {printed}, right {right}")
        assert set(FINDINGS[f"averages/{table}"].details) == expected
        assert len(expected) == {"1": 2, "S3": 2, "2": 9, "S4": 9, "S5": 12}[table]

    def test_clark_on_twitter_is_ranked_backwards(self):
        worst_first = sorted(METHODS, key=lambda m: -mean("2", "Clark", "Twitter", m))
        printed = sorted(METHODS, key=lambda m: int(CELLS["2", "Clark", "Twitter", m]["rank"]))
        assert worst_first == printed
        assert worst_first[0] == "DLDL"
        finding = FINDINGS["backwards/Clark-Twitter"]
        assert "Tables 2 and S4" in finding.claim
        assert "number 7 of 7" in finding.truth

    @pytest.mark.parametrize(
        ("table", "claimed", "first", "second", "last"), [("2", 21, 20, 3, 1), ("S5", 17, 15, 5, 1)]
    )
    def test_first_places(self, table, claimed, first, second, last):
        printed = [
            int(CELLS[table, metric, d, "DLDL"]["rank"]) for metric in METRICS for d in DATASETS
        ]
        places = [correct_rank(table, metric, d, "DLDL") for metric in METRICS for d in DATASETS]
        assert (printed.count(1), places.count(1), places.count(2), places.count(7)) == (
            claimed,
            first,
            second,
            last,
        )
        finding = FINDINGS[f"first-places/{table}"]
        assert f"{100 * claimed / 24:.1f} %" in finding.claim
        assert (
            f"{first} of 24, {100 * first / 24:.1f} % (first {first}, second {second}, last {last})"
            in finding.truth
        )

    def test_correct_claims_are_kept(self):
        """First of all seven on every recovery; the best average rank, or one of the best,
        everywhere else."""
        assert all(
            correct_rank("1", metric, d, "DLDL") == 1 for metric in METRICS for d in DATASETS
        )
        assert "first-places/1" not in FINDINGS
        for table in RANKED:
            for metric in METRICS:
                averages = [correct_average(table, metric, method) for method in METHODS]
                assert averages[0] == pytest.approx(min(averages))


class TestSignificance:
    def test_critical_differences(self):
        # Quantiles of tables: the normal distribution at 1 - 0.05 / 12; the studentised range of 7
        # over sqrt(2).
        bonferroni_dunn, nemenyi = 2.638257, 2.948320
        twelve, six = math.sqrt(7 * 8 / (6 * 12)), math.sqrt(7 * 8 / (6 * 6))
        finding = FINDINGS["critical-difference/Bonferroni-Dunn"]
        assert f"{nemenyi * twelve:.4f}" == "2.6002"
        assert "2.6002" in finding.claim
        assert "Nemenyi" in finding.truth
        for right in (bonferroni_dunn * twelve, bonferroni_dunn * six):
            assert f"{right:.4f}" in finding.truth
        assert f"{bonferroni_dunn * twelve:.4f}" == "2.3267"

    def test_methods_without_significant_difference(self):
        not_significant = []
        for metric in METRICS:
            averages = dict.fromkeys(METHODS, 0.0)
            for table in ("S3", "S4"):
                for dataset in DATASETS:
                    column = {
                        m: mean(table, metric, dataset, m) * (-1 if metric == "Intersection" else 1)
                        for m in METHODS
                    }
                    for m, value in column.items():
                        smaller = sum(other < value for other in column.values())
                        equal = sum(other == value for other in column.values())
                        averages[m] += (smaller + (equal + 1) / 2) / 12
            near = [m for m in METHODS[1:] if averages[m] - averages["DLDL"] <= 2.3267]
            not_significant.append(f"{metric}: {', '.join(near) or 'none'}")
        assert not_significant == [
            "Chebyshev: GLLE, LEMLL",
            "Clark: GLLE, FCM",
            "One-error: none",
            "Intersection: none",
        ]
        assert "; ".join(not_significant) in FINDINGS["significance/all-metrics"].truth


class TestValues:
    def test_impossible_values_are_listed(self):
        found = {name for name, finding in FINDINGS.items() if finding.severity == "impossible"}
        assert found == {"identities/S3-NS-DLDL-One-error", "identities/S5-FBP-LDLSF-Intersection"}
        chebyshev, common = (
            mean("S5", metric, "FBP", "LDLSF") for metric in ("Chebyshev", "Intersection")
        )
        assert (
            common < 1 - 5 / 2 * chebyshev
        )  # the weaker bound, that needs no rounding down of c / 2
        assert (
            f"between {1 - 2 * chebyshev:.4f} and {1 - chebyshev:.4f}" in FINDINGS[max(found)].truth
        )

    def test_deviation_of_a_tiny_mean_is_bounded(self):
        """Ten values in [0, 1] whose mean rounds to 0.0000: they vary most if all but one of them
        are 0."""
        assert np.std([0.0005] + 9 * [0.0], ddof=1) < 0.001 < 0.0592
        assert CELLS["S3", "One-error", "NS", "DLDL"]["std"] == "0.0592"

    def test_identities_hold_for_distributions(self):
        rng = np.random.default_rng(0)
        for c in (2, 3, 5, 8):
            for _ in range(200):
                d, p = rng.dirichlet(np.full(c, 0.3), size=2)
                largest, common = np.abs(d - p).max(), np.minimum(d, p).sum()
                assert 1 - c // 2 * largest - 1e-12 <= common <= 1 - largest + 1e-12
                assert np.sqrt((((d - p) / (d + p)) ** 2).sum()) <= np.sqrt(c) + 1e-12

    def test_lower_bound_of_clark_is_attained(self):
        rng = np.random.default_rng(1)
        D = np.array([rng.permutation([1.0] + [0.0] * z + [0.5] * (5 - z)) for z in (1, 3, 5)] * 20)
        P = rng.dirichlet(np.ones(6), size=len(D))
        clark = np.sqrt((((D - P) / (D + P)) ** 2).sum(axis=1)).mean()
        assert clark > PaperDataset("", 6, float((D == 0).mean())).clark_baseline
        # One-hot truth, and predictions that are nearly right: only the zeros count.
        assert PaperDataset("", 6, 5 / 6).clark_baseline == pytest.approx(math.sqrt(5))

    def test_clark_below_the_lower_bound_of_zeros(self):
        baseline = 8 * 0.8144 / math.sqrt(7)
        below = [
            f"clark-baseline/{table}-REN-{method}" for table in ("S4", "S5") for method in METHODS
            if mean(table, "Clark", "REN", method) < baseline
        ]  # fmt: skip
        assert below == ["clark-baseline/S5-REN-DLDL", "clark-baseline/S5-REN-FCM"]
        assert {name for name in FINDINGS if name.startswith("clark-baseline")} == set(below)
        assert all(f"{baseline:.4f}" in FINDINGS[name].truth for name in below)

    @pytest.mark.parametrize("table", ["S4", "S5"])
    def test_agreement_in_place_of_error(self, table):
        others = [mean(table, "One-error", "REN", method) for method in METHODS[1:]]
        error = 1 - mean(table, "One-error", "REN", "DLDL")
        assert min(others) > 0.78
        assert error < min(others)  # the rank is correct
        assert f"would be {error:.4f}" in FINDINGS[f"agreement/{table}-REN"].truth

    def test_values_printed_twice(self):
        joint = [(metric, d, m) for metric in METRICS for d in DATASETS for m in ("DLDL", "L2")]
        differ = sum(CELLS["S4", *key]["mean"] != CELLS["S5", *key]["mean"] for key in joint)
        assert f"{differ} of {len(joint)} values" in FINDINGS["repeated/S4-S5"].truth
        assert differ == 48
        pairs = [(metric, d) for metric in METRICS for d in DATASETS]
        same = [
            pair
            for pair in pairs
            if CELLS["S5", *pair, "LDLSF"]["mean"] == CELLS["2", *pair, "SA-BFGS"]["mean"]
        ]
        assert set(FINDINGS["repeated/learners"].details) == {", ".join(pair) for pair in same}
        assert len(same) == 11
        for d in DATASETS:
            key = ("Chebyshev", d, "DLDL")
            assert (
                CELLS["3/predictive", *key]["mean"]
                == CELLS["S5", *key]["mean"]
                != CELLS["2", *key]["mean"]
            )
            assert CELLS["3/recovery", *key]["mean"] != CELLS["1", *key]["mean"]
        assert (
            "6 of 6 data sets; its recovery row differs from Table 1 on 6"
            in FINDINGS["repeated/3"].truth
        )

    @pytest.mark.parametrize(("task", "count"), [("recovery", 4), ("predictive", 5)])
    def test_ablation(self, task, count):
        table = f"3/{task}"
        worse = [
            d
            for d in DATASETS
            if mean(table, "Chebyshev", d, "alpha=0") > mean(table, "Chebyshev", d, "beta=0")
        ]
        assert len(worse) == count
        assert f"{count} of 6 data sets ({', '.join(worse)})" in FINDINGS[f"ablation/{task}"].truth


class TestBaselines:
    @pytest.mark.parametrize(
        ("dataset", "file"), [("NS", "Natural_Scene.mat"), ("SCUT", "SCUT_FBP.mat")]
    )
    def test_stored_baselines_are_those_of_the_data(self, dataset, file, monkeypatch, tmp_path):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        D = read_dataset(shared_file(f"datasets/{file}")).D
        Y = binarize(D)
        baselines = {
            "equal-shares": Y / Y.sum(axis=1, keepdims=True),
            "same-degree": np.full(D.shape, 1 / D.shape[1]),
            "mean-distribution": np.tile(D.mean(axis=0), (len(D), 1)),
        }
        computed = {name: np.minimum(D, P).sum(axis=1).mean() for name, P in baselines.items()}
        for origin, folder in (
            ("measured before", tmp_path),
            ("computed now", SHARED / "datasets"),
        ):
            monkeypatch.setenv("LDLEARN_DATA", str(folder))
            details = {
                (f.id, text.partition(":")[0]): text
                for f in audit_paper(["baselines"])
                for text in f.details
            }
            for name, value in computed.items():
                assert f"baseline {value:.4f} ({origin})" in details[f"baselines/{name}", dataset]

    def test_equal_degrees_compared_with_printed_values(self):
        stored = {
            "NS": 0.9495,
            "SCUT": 0.6455,
            "RAF": 0.6399,
            "FBP": 0.6466,
            "REN": 0.967,
            "Twitter": 0.7508,
        }
        gains = {d: score - mean("S3", "Intersection", d, "DLDL") for d, score in stored.items()}
        assert [d for d, gain in gains.items() if gain > 0.005] == ["NS", "RAF", "Twitter"]
        assert [d for d, gain in gains.items() if abs(gain) <= 0.005] == ["REN"]
        truth = FINDINGS["baselines/equal-shares"].truth
        assert (
            "better on NS, RAF and Twitter, equal within 0.005 on REN, worse on SCUT and FBP"
            in truth
        )


class TestCorrupted:
    """A table with one more error has one more finding."""

    CHANGES = (
        (("S3", "Chebyshev", "NS", "L2"), "rank", "5", "ranks/S3"),
        (("S5", "One-error", "Avg.Rank", "FCM"), "mean", "1.23", "averages/S5"),
        (("1", "Clark", "RAF", "FCM"), "mean", "0.5", "copies/1-S3"),
        (("S3", "Clark", "RAF", "FCM"), "mean", "2.5", "identities/S3-RAF-FCM-Clark"),
        (("S3", "Chebyshev", "RAF", "FCM"), "mean", "0.9", "identities/S3-RAF-FCM-Intersection"),
        (
            ("S4", "Intersection", "SCUT", "FLE"),
            "std",
            "0.6",
            "identities/S4-SCUT-FLE-Intersection",
        ),
        (("S4", "Clark", "Twitter", "FLE"), "mean", "1.9", "clark-baseline/S4-Twitter-FLE"),
        (("1", "Chebyshev", "NS", "DLDL"), "mean", "0.4", "first-places/1"),
    )

    @pytest.mark.parametrize(
        ("where", "column", "value", "expected"), CHANGES, ids=[c[-1] for c in CHANGES]
    )
    def test_corrupted_cell_is_detected(self, where, column, value, expected):
        before, after = (
            {f.id: f for f in audit_paper()},
            {f.id: f for f in audit_paper(cells=change_cell(where, column, value))},
        )
        assert after[expected] != before.get(expected)

    def test_reversed_column_is_detected(self):
        cells = printed_cells()
        for method in METHODS:
            where = ("S3", "Chebyshev", "NS", method)
            turned = str(8 - correct_rank(*where))
            cells = [cell._replace(rank=turned) if cell[:4] == where else cell for cell in cells]
        assert "backwards/Chebyshev-NS" in ids(cells, ["backwards"])


@pytest.fixture
def page():
    if not PAGE.is_file():
        pytest.skip("the documents are not part of this copy of the project")
    return PAGE.read_text(encoding="utf-8")


class TestPage:
    def test_shows_every_topic(self, page):
        blocks = "\n".join(re.findall(r"```(?:console|python)\n(.*?)```", page, flags=re.DOTALL))
        topics = set(re.findall(r"[a-z]+(?:-[a-z]+)*", blocks))
        assert {finding.topic for finding in FINDINGS.values()} <= topics

    def test_names_tests_that_exist(self, page):
        named = set(re.findall(r"tests/[\w/]+\.py", page))
        assert named
        assert all((PAGE.parents[2] / name).is_file() for name in named)


class TestSelectionOfTopics:
    def test_every_topic_has_a_check_and_every_finding_a_topic(self):
        assert {finding.topic for finding in FINDINGS.values()} <= set(CHECKS)
        assert set(CHECKS) - {finding.topic for finding in FINDINGS.values()} == {"copies"}

    def test_selected_topics(self):
        assert ids(only=["ranks"]) == {"ranks/1", "ranks/2", "ranks/S4", "ranks/S5"}
        assert ids(only=["ranks/S5", "text"]) == {"ranks/S5", "text/Canberra"}

    def test_unknown_topic_raises(self):
        with pytest.raises(ParameterError, match=r"no topic 'rank'; did you mean ranks\?"):
            audit_paper(["rank"])

    def test_finding_has_all_fields(self):
        finding = Finding("a/b", "one", "two", "three", "slip", ("four",))
        assert str(finding).split("\n") == [
            "a/b (slip)",
            "  in print: one",
            "  found: two",
            "  how: three",
            "    - four",
        ]
