"""Common behaviour of displays, and the data that each one draws."""

from dataclasses import replace
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from synthetic_records import METHODS, make_records

from ldlearn import BDLE, DLDL, SABFGS, EnhanceThenLearn, UniformLE
from ldlearn.datasets import artificial_picture, make_artificial
from ldlearn.evaluation import GridPoint, Record, TooFewDatasetsWarning, bonferroni_dunn, nemenyi
from ldlearn.exceptions import InputError
from ldlearn.metrics import get_metric
from ldlearn.reporting import (
    ArtificialPictureDisplay,
    BarsPanel,
    ConvergenceDisplay,
    CooccurrenceDisplay,
    CriticalDifferenceDisplay,
    DifferencesDisplay,
    DistributionBarsDisplay,
    FeatureInfluenceDisplay,
    ReliabilityDisplay,
    SensitivityDisplay,
    TernaryDisplay,
    TimeMemoryDisplay,
)

RECORDS = make_records(repeats=2)
FEW = [  # enough records for complete figures
    record
    for record in RECORDS
    if record.dataset in ("yeast", "scut_fbp")
    and record.method in ("DLDL", "GLLE", "UniformLE", "PriorLE")
]
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4))
Y = (np.c_[X[:, 0], -X[:, 0], X[:, 1]] + 0.3 * rng.normal(size=(40, 3)) > -0.4).astype(int)
Y[Y.sum(axis=1) == 0, 0] = 1
MODEL = DLDL(beta=0.1, gamma=0.5).fit(X, Y)
SCORES = np.array([[0.1, 0.2, 0.3, 0.4]] * 7 + [[0.2, 0.1, 0.3, 0.4]] * 3)
SURFACE = make_artificial("manifold")

EXAMPLES = {
    "critical difference": lambda ax=None: CriticalDifferenceDisplay(
        nemenyi(SCORES, greater_is_better=False, methods=list("ABCD"))
    ).plot(ax=ax),
    "critical difference of records": lambda ax=None: CriticalDifferenceDisplay.from_records(
        RECORDS, "chebyshev", task="recovery", ax=ax
    ),
    "differences": lambda ax=None: DifferencesDisplay.from_records(
        FEW, "chebyshev", task="recovery", ax=ax
    ),
    "convergence": lambda ax=None: ConvergenceDisplay.from_estimator(MODEL, ax=ax),
    "convergence of records": lambda ax=None: ConvergenceDisplay.from_records(FEW, "yeast", ax=ax),
    "sensitivity": lambda ax=None: SensitivityDisplay.from_records(RECORDS, "yeast", "DLDL", ax=ax),
    "bars": lambda ax=None: DistributionBarsDisplay.from_estimator(MODEL, X, Y, rows=[0, 3], ax=ax),
    "bars of records": lambda ax=None: DistributionBarsDisplay.from_records(FEW, "yeast", ax=ax),
    "artificial": lambda ax=None: ArtificialPictureDisplay(
        {"uniform": np.full((2601, 3), 1 / 3)}
    ).plot(ax=ax),
    "ternary": lambda ax=None: TernaryDisplay.from_estimator(
        MODEL, X, truth=MODEL.label_distributions_, ax=ax
    ),
    "reliability": lambda ax=None: ReliabilityDisplay.from_estimator(
        MODEL, X, MODEL.label_distributions_, ax=ax
    ),
    "co-occurrence": lambda ax=None: CooccurrenceDisplay(Y).plot(ax=ax),
    "influence": lambda ax=None: FeatureInfluenceDisplay.from_estimator(MODEL, 0, ax=ax),
    "time and memory": lambda ax=None: TimeMemoryDisplay.from_records(FEW, ax=ax),
}


@pytest.mark.parametrize("make", EXAMPLES.values(), ids=EXAMPLES)
class TestEveryDisplay:
    def test_draws_on_the_axes_given(self, make):
        figure = Figure(figsize=(8, 6))
        display = make(ax=figure.subplots(1, len(make().axes_)))
        assert display.figure_ is figure
        assert all(panel.figure is figure for panel in display.axes_)

    def test_own_figure_is_saved_completely_without_global_state(self, make, tmp_path):
        import matplotlib.pyplot as plt

        before, backend, figures = dict(mpl.rcParams), mpl.get_backend(), plt.get_fignums()
        display = make()
        assert display.ax_ in display.figure_.axes
        assert display.axes_[0] is display.ax_
        for suffix, head in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
            path = display.save(tmp_path / f"picture.{suffix}", dpi=60)
            assert path.read_bytes().startswith(head)
        assert sorted(entry.name for entry in tmp_path.iterdir()) == [
            "picture.pdf",
            "picture.png",
            "picture.svg",
        ]
        assert (dict(mpl.rcParams), mpl.get_backend(), plt.get_fignums()) == (
            before,
            backend,
            figures,
        )


def test_saved_files_are_reproducible(tmp_path):
    first, second = (
        EXAMPLES["sensitivity"]().save(tmp_path / f"{i}.svg").read_bytes() for i in range(2)
    )
    assert first == second


def test_artists_added_after_saving_are_drawn(tmp_path):
    display = EXAMPLES["co-occurrence"]()
    with pytest.raises(ValueError, match="no_such"):
        display.save(tmp_path / "picture.no_such")
    display.save(tmp_path / "picture.svg")
    before = display.ax_.get_position().y1
    display.figure_.suptitle("A title\nof two lines")
    display.save(tmp_path / "picture.svg")
    assert display.ax_.get_position().y1 < before - 0.05


def test_displays_have_a_notebook_representation():
    assert (
        EXAMPLES["co-occurrence"]()
        ._repr_html_()
        .startswith('<img alt="CooccurrenceDisplay" src="data:image/png')
    )


def test_saving_needs_a_suffix(tmp_path):
    with pytest.raises(ValueError, match="must name a format"):
        EXAMPLES["co-occurrence"]().save(tmp_path / "picture")


def test_names_are_not_parsed_as_formulas(tmp_path):
    names = ["_hidden", "$\\frac{1$ 100% {x}", "a\x00b\nc<script>&"]
    renamed = dict(zip(("DLDL", "DLDL (paper)", "L2"), names, strict=True))
    records = [
        replace(record, method=renamed[record.method])
        for record in RECORDS
        if record.method in renamed
    ]
    for display in (
        CriticalDifferenceDisplay(
            nemenyi(SCORES, greater_is_better=False, methods=[*names, "D"])
        ).plot(),
        ConvergenceDisplay.from_records(records, "yeast"),
        DistributionBarsDisplay.from_records(records, "yeast"),
        TimeMemoryDisplay.from_records(records),
        CooccurrenceDisplay(Y, label_names=names).plot(),
        *(FeatureInfluenceDisplay([1.0, 2.0, 3.0], names, name).plot() for name in names),
        TernaryDisplay({name: [[0.2, 0.3, 0.5]] for name in names}, names).plot(),
    ):
        text = display.save(tmp_path / "picture.svg").read_text()
        assert "<script>" not in text
        assert "_hidden" in text


class TestCriticalDifference:
    def test_ranks_are_ordered_and_groups_have_bars(self):
        display = EXAMPLES["critical difference"]()
        ranks = nemenyi(SCORES, greater_is_better=False, methods=list("ABCD"))
        assert list(display.names_) == ["A", "B", "C", "D"]
        assert "1.30" in display.names_["A"].get_text()
        ends = [tuple(bar.get_xdata()) for bar in display.bars_]
        assert ends == [
            (ranks.average_ranks[g[0]], ranks.average_ranks[g[-1]]) for g in ranks.groups
        ]
        assert len(ends) > 1

    def test_bars_do_not_overlap(self):
        display = EXAMPLES["critical difference"]()
        lines = [(bar.get_ydata()[0], *bar.get_xdata()) for bar in display.bars_]
        for i, (y, start, _) in enumerate(lines):
            assert all(start > other_end for other_y, _, other_end in lines[:i] if other_y == y)

    def test_control_has_a_band_instead_of_bars(self):
        display = CriticalDifferenceDisplay(
            bonferroni_dunn(SCORES, "A", greater_is_better=False, methods=list("ABCD"))
        ).plot()
        assert display.bars_ == []
        (band,) = display.ax_.patches
        limit = display.result.critical_difference
        across = band.get_patch_transform().transform_path(band.get_path()).vertices[:, 0]
        assert (across.min(), across.max()) == pytest.approx((1.3 - limit, 1.3 + limit))
        assert display.names_["A"].get_fontweight() == "bold"

    def test_from_records_leaves_out_incomplete_methods(self):
        some = [r for r in RECORDS if not (r.method == "FCM" and r.dataset == "yeast")]
        display = CriticalDifferenceDisplay.from_records(some, "chebyshev", task="recovery")
        assert set(display.names_) == {"DLDL", "DLDL (paper)", "L2", "GLLE", "UniformLE", "PriorLE"}

    def test_equal_ranks_still_have_an_axis(self):
        with pytest.warns(TooFewDatasetsWarning):
            display = CriticalDifferenceDisplay(
                nemenyi([[0.1, 0.1]] * 3, greater_is_better=True)
            ).plot()
        assert display.result.average_ranks == {"0": 1.5, "1": 1.5}


class TestConvergence:
    def test_one_fit_keeps_its_units(self):
        display = EXAMPLES["convergence"]()
        np.testing.assert_array_equal(display.lines_["DLDL"].get_ydata(), MODEL.objective_path_)
        assert display.gaps["DLDL"] == pytest.approx(MODEL.gap_.sum())

    def test_several_fits_are_drawn_as_relative_change(self):
        display = ConvergenceDisplay({"a": [5.0, 2.5, 2.0], "b": [1.0, 1.0]}).plot()
        np.testing.assert_allclose(display.lines_["a"].get_ydata(), [1.25, 0.25])
        np.testing.assert_allclose(display.lines_["a"].get_xdata(), [2, 3])
        np.testing.assert_allclose(display.lines_["b"].get_ydata(), [1e-16])
        assert display.ax_.get_yscale() == "log"

    def test_empty_curve_raises(self):
        with pytest.raises(ValueError, match="has no objective_path_"):
            ConvergenceDisplay.from_estimator(UniformLE().fit(X, Y))
        with pytest.raises(ValueError, match="no_such"):
            ConvergenceDisplay.from_records(RECORDS, "no_such")


ONE = Record(cell="a", dataset="d", method="m", repeat=0, status="ok")


class TestDifferences:
    def test_dots_are_differences_to_the_best_baseline_of_each_data_set(self):
        display = DifferencesDisplay.from_records(
            RECORDS, "intersection", task="recovery", methods=["DLDL", "L2"]
        )
        assert list(display.differences) == ["natural_scene", "scut_fbp", "vader_tweets", "yeast"]
        mean = {
            name: np.mean(
                [
                    r.recovery["intersection"]
                    for r in RECORDS
                    if (r.dataset, r.method) == ("yeast", name)
                ]
            )
            for name in ("DLDL", "L2", "UniformLE", "PriorLE")
        }
        baseline = max(("UniformLE", "PriorLE"), key=mean.get)
        assert display.axes_[3].get_title(loc="left") == "yeast"
        assert display.axes_[3].get_xlabel() == f"Intersection, better than\n{baseline}"
        for name in ("DLDL", "L2"):
            assert display.differences["yeast"][name].mean == pytest.approx(
                mean[name] - mean[baseline]
            )
            (x,) = display.dots_["yeast", name].lines[0].get_xdata()
            assert x == pytest.approx(mean[name] - mean[baseline])

    def test_no_baselines_raises(self):
        some = [record for record in RECORDS if record.method in ("DLDL", "L2")]
        with pytest.raises(ValueError, match="No baseline has a recovery score"):
            DifferencesDisplay.from_records(some, "chebyshev", task="recovery")


class TestSensitivity:
    def test_each_value_is_the_best_over_other_parameters(self):
        display = EXAMPLES["sensitivity"]()
        mine = [r for r in RECORDS if (r.dataset, r.method) == ("yeast", "DLDL")]
        expected = [
            np.mean([min(p.recovery for p in r.grid if p.params["alpha"] == alpha) for r in mine])
            for alpha in (0.001, 0.1, 10.0)
        ]
        np.testing.assert_allclose(display.lines_["alpha", "recovery"].get_ydata(), expected)
        np.testing.assert_allclose(display.lines_["alpha", "recovery"].get_xdata(), [-3, -1, 1])
        assert display.parameters == ["alpha", "beta", "gamma"]

    @pytest.mark.parametrize(
        ("metric", "expected"), [("intersection", [0.5, 0.9]), ("chebyshev", [0.2, 0.9])]
    )
    def test_direction_of_the_selection_metric(self, metric, expected):
        grid = [GridPoint({"k": k}, recovery=score) for k, score in ((1, 0.2), (2, 0.9))]
        grid += [GridPoint({"k": 1, "w": 1}, recovery=0.5)]
        # The recorded selection is ignored: here it is that of the opposite direction.
        record = replace(
            ONE, grid=grid, selected={"recovery": {"k": 1}}, selection={"recovery": metric}
        )
        display = SensitivityDisplay.from_records([record], "d", "m")
        np.testing.assert_allclose(display.lines_["k", "recovery"].get_ydata(), expected)
        assert get_metric(metric).heading in display.ax_.get_ylabel()

    def test_vertical_axis_shows_the_metric_that_selected(self):
        display = SensitivityDisplay.from_records(RECORDS, "yeast", "DLDL")
        assert display.figure_.axes[0].get_ylabel().split("\n")[1].startswith("validation ")

    def test_categorical_values_are_equally_spaced(self):
        grid = [GridPoint({"init": v}, s, s) for v, s in ((None, 0.2), ("pseudo", 0.1))]
        record = replace(ONE, grid=grid, selected={"recovery": {"init": None}})
        display = SensitivityDisplay.from_records([record], "d", "m")
        labels = [label.get_text() for label in display.ax_.get_xticklabels()]
        assert labels == ["default", "pseudo"]

    def test_no_grid_raises(self):
        with pytest.raises(ValueError, match="hold no grid"):
            SensitivityDisplay.from_records(RECORDS, "yeast", "GLLE")

    def test_from_scikit_learn_search(self):
        scores = {"mean_test_score": [0.1, 0.4, 0.3, 0.2], "std_test_score": [0.0] * 4}
        tried = [{"beta": beta, "gamma": 5.0} for beta in (1.0, 1.0, 2.0, 2.0)]
        search = SimpleNamespace(
            cv_results_={"params": tried} | scores, best_params_={"beta": 1.0, "gamma": 5.0}
        )
        display = SensitivityDisplay.from_estimator(search)
        assert display.parameters == ["beta"]
        np.testing.assert_allclose(display.lines_["beta", "search"].get_ydata(), [0.4, 0.3])
        with pytest.raises(ValueError, match="nothing to draw"):
            SensitivityDisplay.from_estimator(
                SimpleNamespace(
                    cv_results_={"params": [{"gamma": 5.0}] * 4} | scores,
                    best_params_={"gamma": 5.0},
                )
            )

    def test_too_few_axes_raise(self):
        with pytest.raises(ValueError, match="6 panels, but 2 axes"):
            SensitivityDisplay.from_records(RECORDS, "yeast", "DLDL", ax=Figure().subplots(1, 2))


class TestDistributionBars:
    def test_texts_of_rows_are_wrapped_as_titles(self):
        texts = ["short", "a text of many words that does not fit into one line above a panel", "b"]
        options = {"texts": texts, "rows": [1, 0], "label_names": ["p", "q"]}
        long, short = DistributionBarsDisplay.from_distributions(
            {"found": np.eye(3)[:, :2]}, **options
        ).axes_
        assert short.get_title(loc="left") == "short"
        assert long.get_title(loc="left").split() == texts[1].split()
        assert max(map(len, long.get_title(loc="left").splitlines())) <= 28

    def test_bars_are_the_degrees(self):
        display = EXAMPLES["bars"]()
        widths = [bar.get_width() for bar in display.bars_[1]["recovered"]]
        np.testing.assert_allclose(widths, MODEL.label_distributions_[3])
        widths = [bar.get_width() for bar in display.bars_[1]["predicted"]]
        np.testing.assert_allclose(widths, MODEL.predict(X)[3])

    def test_new_rows_have_only_predictions(self):
        display = DistributionBarsDisplay.from_estimator(MODEL, X[:5], rows=[0])
        assert list(display.bars_[0]) == ["predicted"]

    @pytest.mark.filterwarnings("ignore:Intervals of predictions may be too narrow")  # of tweets
    def test_intervals_are_lines(self):
        display = DistributionBarsDisplay.from_estimator(MODEL, X, Y, rows=[3], interval=0.9)
        ends = [
            np.array([segment[:, 0] for segment in lines.get_segments()])
            for lines in display.ax_.collections
        ]
        np.testing.assert_allclose(ends[0].T, np.stack(MODEL.enhance_interval(X, Y))[:, 3])
        np.testing.assert_allclose(ends[1].T, np.stack(MODEL.predict_interval(X))[:, 3])
        assert display.ax_.get_xlim()[1] >= min(1.0, ends[1].max())

    def test_markers_of_truth_and_logical_labels(self):
        panel = BarsPanel("x", {"a": [0.2, 0.8]}, logical=[1, 0], truth=[0.3, 0.7])
        display = DistributionBarsDisplay([panel], ["p", "q"]).plot()
        (strokes,) = display.ax_.collections
        assert [segment[0, 0] for segment in strokes.get_segments()] == [0.3, 0.7]
        filled = [line.get_markerfacecolor() != "none" for line in display.ax_.lines]
        assert filled == [True, False]

    def test_from_records_has_a_panel_per_recovery_method(self):
        display = DistributionBarsDisplay.from_records(RECORDS, "yeast", row=3)
        headings = [panel.heading for panel in display.panels]
        assert headings == [
            name for name, (kind, *_) in METHODS.items() if kind in ("joint", "enhancer")
        ]
        record = next(r for r in RECORDS if (r.dataset, r.method) == ("yeast", "GLLE"))
        glle = display.bars_[headings.index("GLLE")]["recovered"]
        np.testing.assert_allclose([bar.get_width() for bar in glle], record.samples.recovered[3])

    def test_unrecorded_row_raises(self):
        with pytest.raises(ValueError, match="holds row 77"):
            DistributionBarsDisplay.from_records(RECORDS, "yeast", row=77)


class TestThreeLabels:
    def test_panels_use_the_colours_of_the_truth(self):
        display = EXAMPLES["artificial"]()
        assert list(display.images_) == ["truth", "uniform"]
        drawn = np.asarray(display.images_["truth"].get_array(), dtype=float)
        np.testing.assert_allclose(drawn, artificial_picture(SURFACE.D))
        assert np.ptp(np.asarray(display.images_["uniform"].get_array()), axis=(0, 1)).max() < 1e-12

    def test_predictions_on_the_surface(self):
        small = make_artificial(n_samples=60)
        model = DLDL().fit(small.X, small.logical(rule="cumulative"))
        display = ArtificialPictureDisplay({"DLDL": model.predict(SURFACE.X)}).plot()
        np.testing.assert_allclose(
            np.asarray(display.images_["DLDL"].get_array()),
            artificial_picture(model.predict(SURFACE.X)),
        )

    def test_corners_of_the_triangle_are_one_hot_distributions(self):
        display = TernaryDisplay({"corners": np.eye(3), "middle": [[1 / 3] * 3]}).plot()
        corners = display.points_["corners"].get_offsets()
        np.testing.assert_allclose(corners, [[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
        np.testing.assert_allclose(display.points_["middle"].get_offsets(), [corners.mean(axis=0)])

    def test_other_numbers_of_labels_raise(self):
        with pytest.raises(ValueError, match="three labels"):
            TernaryDisplay({"a": [[0.5, 0.5]]})


class TestReliability:
    def test_bins_are_means(self):
        D_pred = np.array([[0.05, 0.95], [0.15, 0.85], [0.05, 0.95]])
        D_true = np.array([[0.1, 0.9], [0.2, 0.8], [0.0, 1.0]])
        display = ReliabilityDisplay(D_true, D_pred).plot()
        np.testing.assert_allclose(display.predicted, [0.05, 0.15, 0.85, 0.95])
        np.testing.assert_allclose(display.true, [0.05, 0.2, 0.8, 0.95])
        np.testing.assert_allclose(display.fraction, [2 / 6, 1 / 6, 1 / 6, 2 / 6])
        assert display.calibration_error == pytest.approx((0.05 + 0.05) / 6)
        np.testing.assert_allclose(display.line_.get_ydata(), display.true)

    def test_degree_of_one_belongs_to_the_last_bin(self):
        display = ReliabilityDisplay([[1.0, 0.0]], [[1.0, 0.0]], n_bins=4)
        np.testing.assert_allclose(display.edges, [[0, 0.25], [0.75, 1]])
        assert display.calibration_error == 0

    def test_shapes_must_agree(self):
        with pytest.raises(ValueError, match="one shape"):
            ReliabilityDisplay([[1.0, 0.0]], [[1.0, 0.0, 0.0]])


class TestCooccurrence:
    def test_fractions_of_rows_with_the_label(self):
        labels = [[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0], [0, 1, 0, 0]]
        display = CooccurrenceDisplay(labels).plot()
        np.testing.assert_allclose(display.conditional[0], [1, 2 / 3, 1 / 3, 0])
        np.testing.assert_allclose(display.conditional[2], [1, 1, 1, 0])
        assert np.isnan(display.conditional[3]).all()
        np.testing.assert_allclose(display.frequencies, [0.75, 0.75, 0.25, 0])
        assert [text.get_text() for text in display.texts_[:4]] == ["1.00", "0.67", "0.33", "0.00"]

    def test_label_names_of_data_frames(self):
        pandas = pytest.importorskip("pandas")
        display = CooccurrenceDisplay(pandas.DataFrame({"sky": [1, 0], "sea": [1, 1]}))
        assert display.label_names == ["sky", "sea"]

    def test_degrees_raise(self):
        with pytest.raises(ValueError, match="0 and 1"):
            CooccurrenceDisplay([[0.2, 0.8]])


class TestFeatureInfluence:
    def test_coefficients_are_against_the_mean_of_the_labels(self):
        display = FeatureInfluenceDisplay.from_estimator(MODEL, 1)
        np.testing.assert_allclose(display.coef, (MODEL.coef_ - MODEL.coef_.mean(axis=0))[1])
        widths = [bar.get_width() for bar in display.bars_]
        assert widths == sorted(widths, reverse=True)

    def test_strongest_features_are_drawn(self):
        display = FeatureInfluenceDisplay([0.1, -3.0, 2.0, 0.5], list("abcd"), "sky", top=2).plot()
        assert display.shown_ == ["c", "b"]

    def test_scale_makes_units_comparable(self):
        plain = FeatureInfluenceDisplay.from_estimator(MODEL, 0)
        scaled = FeatureInfluenceDisplay.from_estimator(MODEL, 0, scale=[1, 2, 3, 4])
        np.testing.assert_allclose(scaled.coef, plain.coef * [1, 2, 3, 4])

    def test_finds_coefficients_and_names_inside_pipelines_and_two_steps(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
        labels = pandas.DataFrame(Y, columns=["sky", "sea", "sun"])
        pipe = make_pipeline(StandardScaler(), EnhanceThenLearn()).fit(frame, labels)
        display = FeatureInfluenceDisplay.from_estimator(pipe, 0)
        assert set(display.shown_) == {"a", "b", "c", "d"}
        direct = FeatureInfluenceDisplay.from_estimator(DLDL().fit(frame, labels), "sea")
        assert direct.label == "sea"

    def test_number_is_a_column_and_a_text_is_a_name(self):
        pandas = pytest.importorskip("pandas")
        model = SABFGS().fit(X, pandas.DataFrame(MODEL.predict(X), columns=["1", "0", "sky"]))
        assert FeatureInfluenceDisplay.from_estimator(model, 1).label == "0"
        assert FeatureInfluenceDisplay.from_estimator(model, "1").label == "1"

    def test_unsupported_estimators_raise(self):
        with pytest.raises(ValueError, match="feature map"):
            FeatureInfluenceDisplay.from_estimator(DLDL(feature_map="rbf").fit(X, Y), 0)
        with pytest.raises(
            ValueError, match="UniformLE does not predict a softmax of linear scores"
        ):
            FeatureInfluenceDisplay.from_estimator(UniformLE().fit(X, Y), 0)
        with pytest.raises(ValueError, match="BDLE does not predict"):
            FeatureInfluenceDisplay.from_estimator(BDLE().fit(X, Y), 0)
        with pytest.raises(ValueError, match="no label 'moon'"):
            FeatureInfluenceDisplay.from_estimator(MODEL, "moon")


def test_time_and_memory_are_means_sorted_by_time():
    display = TimeMemoryDisplay.from_records(RECORDS)
    assert display.methods_[0] == "DLDL"
    assert display.seconds["DLDL"]["fit"] == pytest.approx(0.105)
    assert display.memory["DLDL"] == pytest.approx(150)
    fits = display.points_["fit"]
    np.testing.assert_allclose(
        fits.get_xdata(), [display.seconds[m]["fit"] for m in display.methods_]
    )


def test_memory_is_drawn_only_where_it_differs():
    seconds = {"A": {"fit": 1.0}, "B": {"fit": 2.0}}
    assert len(TimeMemoryDisplay(seconds, {"A": 100.0, "B": 190.0}).plot().axes_) == 2
    display = TimeMemoryDisplay(seconds, {"A": 100.0, "B": 101.0}).plot()
    assert len(display.axes_) == 1
    assert "memory" not in display.points_


def test_displays_do_not_open_pyplot_figures():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    for _ in range(3):
        CooccurrenceDisplay([[1]]).plot()
    assert plt.get_fignums() == before


def test_panels_need_no_more_axes_than_there_are_panels():
    figure = Figure(figsize=(12, 3))
    display = DistributionBarsDisplay.from_estimator(
        MODEL, X, Y, rows=[0, 1, 2, 3], ax=figure.subplots(1, 4)
    )
    assert len(display.axes_) == 4


def test_default_label_names_of_the_triangle():
    assert TernaryDisplay({"one": [[0.2, 0.3, 0.5]]}).label_names == [
        "label_0",
        "label_1",
        "label_2",
    ]


@pytest.mark.parametrize(
    "empty",
    [
        DifferencesDisplay({}, {}),
        SensitivityDisplay({"recovery": []}),
        DistributionBarsDisplay([], ["a", "b"]),
    ],
)
def test_empty_input_raises(empty):
    with pytest.raises(InputError, match="nothing to show"):
        empty.plot()
