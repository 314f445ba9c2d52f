"""Comparison of the paper with a run: verbatim printed values and checked remarks."""

import csv
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from synthetic_records import make_records

from ldlearn._messages import normalize_name
from ldlearn.evaluation import Method, Results
from ldlearn.metrics import METRICS
from research.paper.comparison import paired_tables, paper_method
from research.paper.printed_tables import BLOCKS, PAPER_METRICS, abbreviations
from research.paper.remarks import printed_scores

BLOCK = {block.key: block for block in BLOCKS}
RESULTS = Results(make_records(repeats=2))
TABLES = {(t.block.key, t.metric.name): t for t in paired_tables(RESULTS)}


def rows_of(name):
    text = files("research.paper").joinpath("data", f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def value(table, metric, dataset, method, name="predictive"):
    (row,) = [
        r
        for r in rows_of(name)
        if (r["table"], r["metric"], r["dataset"], r["method"]) == (table, metric, dataset, method)
    ]
    return float(row["mean"])


class TestPrinted:
    def test_printed_cells_are_verbatim(self):
        files_of = {
            "recovery": "recovery",
            "prediction": "predictive",
            "prediction-ldlsf": "predictive_ldlsf",
        }
        for key, name in files_of.items():
            for row in rows_of(name):
                if row["dataset"] != "Avg.Rank":
                    cell = printed_scores()[key, PAPER_METRICS[row["metric"]]][
                        row["dataset"], row["method"]
                    ]
                    assert cell.mean == row["mean"]
                    assert cell.std == row["std"] or row["std"] == ""

    def test_deviations_are_those_of_the_supplement(self):
        assert printed_scores()["recovery", "chebyshev"]["NS", "DLDL"].std == "0.0324"

    def test_wrong_ranks_have_the_corrected_rank(self):
        cell = printed_scores()["prediction", "clark"]["Twitter", "DLDL"]
        assert (cell.rank, cell.right_rank) == ("1", "7")
        assert any("another rank" in remark for remark in cell.remarks)
        others = ("DLDL", "L2", "GLLE", "LEMLL", "LESC", "FCM")
        wrong = {("Clark", "Twitter", m) for m in others} | {("Intersection", "RAF", "GLLE")}
        marked = {
            (metric, *key)
            for metric, ours in PAPER_METRICS.items()
            for key, cell in printed_scores()["prediction", ours].items()
            if cell.right_rank
        }
        assert marked == wrong

    def test_names_of_the_catalogue_are_recognised(self):
        from ldlearn.datasets import list_datasets

        names = [info if isinstance(info, str) else info.name for info in list_datasets()]
        found = {abbreviations().get(normalize_name(name)) for name in names} - {None}
        assert found == {"NS", "SCUT", "RAF", "FBP", "REN", "Twitter"}


class TestRemarks:
    """The statements of remarks.csv follow from the printed numbers."""

    def test_every_remark_belongs_to_a_printed_cell(self):
        printed = [
            row
            for name in ("recovery", "predictive", "predictive_ldlsf", "ablation")
            for row in rows_of(name)
        ]
        for remark in rows_of("remarks"):
            keys = ("table", "metric", "dataset", "method")
            assert any(all(remark[k] in ("*", row[k]) for k in keys) for row in printed), remark

    def test_deviation_of_nonnegative_values_implies_a_positive_mean(self):
        cell = printed_scores()["recovery", "threshold_error"]["NS", "DLDL"]
        assert (cell.mean, cell.std) == ("0.0000", "0.0592")
        assert any("impossible" in remark for remark in cell.remarks)

    def test_agreement_was_printed_as_error(self):
        others = [
            float(c.mean) for (d, m), c in printed_scores()["prediction", "threshold_error"].items()
            if d == "REN" and m != "DLDL"
        ]  # fmt: skip
        assert min(others) > 0.78
        assert 1 - value("2", "One-error", "REN", "DLDL") == pytest.approx(0.806, abs=5e-4)
        assert 1 - value("S5", "One-error", "REN", "DLDL", "predictive_ldlsf") == pytest.approx(
            0.801, abs=5e-4
        )

    def test_two_learners_have_eleven_identical_cells(self):
        ldlsf, bfgs = printed_scores(), printed_scores()
        equal = {
            (metric, dataset)
            for metric in PAPER_METRICS.values()
            for (dataset, method), cell in ldlsf["prediction-ldlsf", metric].items()
            if method == "LDLSF"
            and cell.mean == bfgs["prediction", metric][dataset, "SA-BFGS"].mean
        }
        marked = {
            (metric, dataset)
            for metric in PAPER_METRICS.values()
            for (dataset, method), cell in ldlsf["prediction-ldlsf", metric].items()
            if method == "LDLSF" and any("Equal to SA-BFGS" in remark for remark in cell.remarks)
        }
        assert equal == marked
        assert len(equal) == 11

    def test_tables_s4_and_s5_never_agree_on_methods_without_a_learner(self):
        for metric in PAPER_METRICS.values():
            for method in ("DLDL", "L2"):
                for dataset in ("NS", "SCUT", "RAF", "FBP", "REN", "Twitter"):
                    s4 = printed_scores()["prediction", metric][dataset, method].mean
                    assert s4 != printed_scores()["prediction-ldlsf", metric][dataset, method].mean

    def test_intersection_contradicts_its_chebyshev_distance(self):
        cheb = value("S5", "Chebyshev", "FBP", "LDLSF", "predictive_ldlsf")
        assert 1 - value("S5", "Intersection", "FBP", "LDLSF", "predictive_ldlsf") > (5 // 2) * cheb

    def test_clark_values_contradict_the_zeros(self):
        # 0.8144 of 8 labels are zero on average; sqrt is concave and at most 7 are, so its mean is
        # at least z / sqrt(7)
        baseline = 8 * 0.8144 / np.sqrt(7)
        assert value("S5", "Clark", "REN", "FCM", "predictive_ldlsf") < baseline
        assert value("S5", "Clark", "REN", "DLDL", "predictive_ldlsf") < baseline

    def test_deviations_of_dldl_on_raf_stand_out(self):
        for metric in PAPER_METRICS.values():
            cells = printed_scores()["prediction", metric]
            others = [
                float(c.std) for (d, m), c in cells.items() if d == "RAF" and c.std and m != "DLDL"
            ]
            assert float(cells["RAF", "DLDL"].std) > 8 * np.median(others)

    def test_ablation_repeats_table_s5(self):
        for dataset in ("NS", "SCUT", "RAF", "FBP", "REN", "Twitter"):
            full = printed_scores()["ablation-prediction", "chebyshev"][dataset, "DLDL"].mean
            assert full == printed_scores()["prediction-ldlsf", "chebyshev"][dataset, "DLDL"].mean
            assert full != printed_scores()["prediction", "chebyshev"][dataset, "DLDL"].mean
            recovered = printed_scores()["ablation-recovery", "chebyshev"][dataset, "DLDL"].mean
            assert recovered != printed_scores()["recovery", "chebyshev"][dataset, "DLDL"].mean
        cells = printed_scores()["ablation-recovery", "chebyshev"]
        assert cells["Twitter", "beta=0"].mean == cells["Twitter", "gamma=0"].mean

    def test_other_tables_print_what_the_remarks_quote(self):
        for metric, dataset in (("One-error", "FBP"), ("Clark", "FBP"), ("One-error", "Twitter")):
            cell = printed_scores()["prediction", PAPER_METRICS[metric]][dataset, "DLDL"]
            quoted = printed_scores()["prediction-ldlsf", PAPER_METRICS[metric]][
                dataset, "DLDL"
            ].mean
            assert any(quoted in remark for remark in cell.remarks)


class TestMatching:
    @pytest.mark.parametrize(
        ("method", "block", "expected"),
        [
            (Method("DLDL (paper)", "joint", estimator="DLDL"), "recovery", "DLDL"),
            (Method("DLDL (paper)", "joint", estimator="DLDL"), "prediction", "DLDL"),
            (Method("GLLE", "enhancer", estimator="GLLE"), "recovery", "GLLE"),
            (Method("GLLE", "enhancer", estimator="GLLE"), "prediction", None),
            (
                Method("GLLE + SABFGS", "two-step", estimator="GLLE", learner="SABFGS"),
                "prediction",
                "GLLE",
            ),
            (
                Method("GLLE + SABFGS", "two-step", estimator="GLLE", learner="SABFGS"),
                "prediction-ldlsf",
                None,
            ),
            (Method("GLLE + LDLSF", "two-step"), "prediction-ldlsf", "GLLE"),
            (Method("GLLE + LDLSF", "two-step"), "prediction", None),
            (Method("SA-BFGS on truth", "learner"), "prediction", "SA-BFGS"),
            (Method("LDLSF on truth", "learner", estimator="LDLSF"), "prediction-ldlsf", "LDLSF"),
            (Method("UniformLE", "enhancer", is_baseline=True), "recovery", None),
            (Method("DLDL, alpha = 0", "joint", estimator="DLDL"), "ablation-recovery", "alpha=0"),
            (Method("DLDL, alpha = 0", "joint", estimator="DLDL"), "recovery", None),
            (Method("DLDL, alpha = 0.1", "joint", estimator="DLDL"), "ablation-recovery", None),
            (Method("DLDL", "joint", estimator="DLDL"), "ablation-prediction", "DLDL"),
        ],
    )
    def test_method_names_are_matched(self, method, block, expected):
        names = {
            name
            for (key, _), cells in printed_scores().items()
            if key == block
            for _, name in cells
        }
        assert paper_method(method, BLOCK[block], names) == expected


class TestPaired:
    def test_paper_cells_are_paired_with_ours(self):
        table = TABLES["recovery", "chebyshev"]
        assert list(table.datasets) == ["natural_scene", "scut_fbp"]
        rows = [row for row in table.rows if row.paper_method == "DLDL"]
        assert [row.method.name for row in rows] == ["DLDL", "DLDL (paper)"]
        cell = rows[0].scores["natural_scene"]
        assert cell.printed.mean == "0.0845"
        assert (
            cell.ours
            == RESULTS.table("recovery", METRICS["chebyshev"]).score("DLDL", "natural_scene").spread
        )

    def test_paper_methods_that_were_not_run(self):
        (row,) = [
            row for row in TABLES["recovery", "chebyshev"].rows if row.paper_method == "LEMLL"
        ]
        assert row.method is None
        assert row.scores["natural_scene"].ours is None

    def test_printed_values_worse_than_a_baseline_are_marked(self):
        for metric in ("chebyshev", "intersection"):
            table = TABLES["recovery", metric]
            for row in table.rows:
                for dataset, cell in row.scores.items():
                    name, baseline = table.baselines[dataset]
                    assert RESULTS.methods[name].is_baseline
                    worse = float(cell.printed.mean) < baseline.mean
                    assert cell.below_baseline == (worse if metric == "intersection" else not worse)

    def test_notes_are_numbered_in_reading_order(self):
        table = TABLES["prediction-ldlsf", "chebyshev"]
        seen = [
            number for row in table.rows for cell in row.scores.values() for number in cell.notes
        ]
        first_use = list(dict.fromkeys(seen))
        assert first_use == sorted(first_use) == list(range(1, len(table.notes) + 1))

    def test_clark_convention_of_the_paper(self):
        records = [
            replace(r, paper_zeros={"recovery": {"clark": 7.0}, "prediction": None})
            if r.method == "GLLE"
            else r
            for r in make_records(repeats=2)
        ]
        tables = {(t.block.key, t.metric.name): t for t in paired_tables(Results(records))}
        (row,) = [row for row in tables["recovery", "clark"].rows if row.paper_method == "GLLE"]
        assert row.scores["natural_scene"].ours.mean == 7.0
        (row,) = [row for row in tables["recovery", "chebyshev"].rows if row.paper_method == "GLLE"]
        assert row.scores["natural_scene"].ours.mean < 1

    def test_run_without_paper_data_has_no_tables(self):
        assert paired_tables(Results(make_records({"yeast": ["a", "b"]}, missing=()))) == []

    def test_ablation_is_compared_with_table_3(self):
        assert not any(key.startswith("ablation") for key, _ in TABLES)
        methods = {
            "DLDL": ("joint", False, 0.1, True),
            "DLDL, beta = 0": ("joint", False, 0.2, True),
        }
        tables = {
            (t.block.key, t.metric.name): t
            for t in paired_tables(Results(make_records(methods=methods)))
        }
        table = tables["ablation-recovery", "chebyshev"]
        matched = {row.paper_method: row.method and row.method.name for row in table.rows}
        assert matched == {
            "DLDL": "DLDL",
            "alpha=0": None,
            "beta=0": "DLDL, beta = 0",
            "gamma=0": None,
        }
