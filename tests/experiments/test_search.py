import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors
from tiny_plans import tiny_dict, tiny_plan

from ldlearn import DLDL, GLLE, L2, SABFGS, PriorLE
from ldlearn.core import binarize
from ldlearn.core.graph import SharedNeighbors
from ldlearn.datasets import make_label_distributions
from ldlearn.experiments import MethodSpec, run_plan
from ldlearn.experiments.cells import draw_grid_indices, group_cells, plan_cells
from ldlearn.experiments.splits import make_split
from ldlearn.metrics import LABEL_METRICS, METRICS, chebyshev, score_all, vote_likelihood


def data_of(plan):
    return plan.datasets[0].load()


def record_of(run, method, repeat=0):
    return next(r for r in run.records if r.method == method and r.repeat == repeat)


@pytest.fixture(scope="module")
def tiny(complete_run):
    return tiny_plan(), complete_run


def plan_with_one_repeat(**changes):
    """A plan with one repeat."""
    return tiny_plan(protocol={"repeats": 1}, **changes)


def all_scores(part, degrees, labels=False):
    """What a record holds: scores by the true degrees and, of predictions, by the 0/1 labels."""
    against_labels = score_all(part.Y, degrees, list(LABEL_METRICS)) if labels else {}
    return score_all(part.D, degrees, list(METRICS)) | against_labels


def test_selection_equals_a_loop_over_the_grid(tiny):
    plan, run = tiny
    for repeat in range(2):
        split = make_split(data_of(plan), plan.datasets[0], plan.protocol, repeat)
        train, validation, test = split.train, split.validation, split.test
        tried = []
        for alpha, beta, gamma in itertools.product([0.0, 0.1], [0.1, 1.0], [0.4, 1.0]):
            model = DLDL(alpha=alpha, beta=beta, gamma=gamma).fit(train.X, train.Y)
            recovery = chebyshev(validation.D, model.enhance(validation.X, validation.Y))
            prediction = chebyshev(validation.D, model.predict(validation.X))
            tried.append(
                (recovery, prediction, {"alpha": alpha, "beta": beta, "gamma": gamma}, model)
            )
        record = record_of(run, "DLDL", repeat)
        by_recovery, by_prediction = min(tried, key=lambda t: t[0]), min(tried, key=lambda t: t[1])
        assert record.selected == {"recovery": by_recovery[2], "prediction": by_prediction[2]}
        # The recorded scores are those of a single fit with the selected parameters.
        assert record.recovery == pytest.approx(
            all_scores(train, by_recovery[3].label_distributions_), abs=1e-5
        )
        assert record.prediction == pytest.approx(
            all_scores(test, by_prediction[3].predict(test.X), labels=True), abs=1e-5
        )
        assert [point.params for point in record.grid] == [t[2] for t in tried]
        np.testing.assert_allclose(
            [point.recovery for point in record.grid], [t[0] for t in tried], atol=1e-4
        )
        np.testing.assert_allclose(
            [point.prediction for point in record.grid], [t[1] for t in tried], atol=1e-4
        )
        assert record.validation["prediction"] == min(point.prediction for point in record.grid)


def test_recovery_can_be_selected_on_training_rows(tiny, tmp_path):
    plan = plan_with_one_repeat(selection={"recovery_rows": "training"})
    run = run_plan(plan, tmp_path)
    assert run.count("ok") == 5
    split = make_split(data_of(plan), plan.datasets[0], plan.protocol, 0)
    tried = []
    for alpha, beta, gamma in itertools.product([0.0, 0.1], [0.1, 1.0], [0.4, 1.0]):
        model = DLDL(alpha=alpha, beta=beta, gamma=gamma).fit(split.train.X, split.train.Y)
        tried.append(chebyshev(split.train.D, model.label_distributions_))
    record = record_of(run, "DLDL")
    np.testing.assert_allclose([point.recovery for point in record.grid], tried, atol=1e-4)
    assert record.validation["recovery"] == min(point.recovery for point in record.grid)
    assert record.recovery["chebyshev"] == record.validation["recovery"]
    assert record.selection["recovery_basis"] == "training rows"
    assert record.prediction == record_of(tiny[1], "DLDL").prediction


GLLE_GRID = {"lam": [0.001, 0.1, 10.0]}
SMALL_GLLE = {"estimator": "GLLE", "params": {"n_neighbors": 5}, "grid": GLLE_GRID}


def test_methods_without_enhance_are_fitted_on_validation_rows_and_scored_on_other_rows(tmp_path):
    plan = plan_with_one_repeat(methods={"GLLE": SMALL_GLLE})
    record = run_plan(plan, tmp_path).records[0]
    split = make_split(data_of(plan), plan.datasets[0], plan.protocol, 0)
    tried = [
        [
            GLLE(lam=lam, n_neighbors=5, random_state=0).fit_enhance(part.X, part.Y)
            for part in (split.validation, split.train)
        ]
        for lam in GLLE_GRID["lam"]
    ]
    values = [chebyshev(split.validation.D, there) for there, _ in tried]
    assert [point.recovery for point in record.grid] == pytest.approx(values, abs=1e-9)
    best = int(np.argmin(values))
    assert record.selected["recovery"] == {"lam": GLLE_GRID["lam"][best]}
    assert record.recovery == pytest.approx(all_scores(split.train, tried[best][1]), abs=1e-9)
    assert record.selection["recovery_basis"] == "validation rows"
    assert record.validation["recovery"] == min(point.recovery for point in record.grid)


def test_too_few_validation_rows_for_the_neighbours_are_reported(tmp_path):
    """12 validation rows cannot have 15 neighbours each; the 36 training rows can."""
    methods = {
        "some": {"estimator": "L2", "grid": {"n_neighbors": [15, 5], "gamma": [0.01, 1.0]}},
        "none": {"estimator": "L2", "params": {"n_neighbors": 15}, "grid": {"gamma": [0.01, 1.0]}},
        "no choice": {"estimator": "L2", "params": {"n_neighbors": 15}},
        "on training rows": {"estimator": "GLLE", "params": {"n_neighbors": 15}},
    }
    some, none, no_choice, _ = run_plan(plan_with_one_repeat(methods=methods), tmp_path).records
    too_few = (
        "12 validation rows give no score: n_neighbors must be at least 1 and less than the "
        "number of"
    )
    assert some.status == "ok"
    assert some.selected["recovery"]["n_neighbors"] == 5
    assert some.message.startswith(f"2 grid points failed, the first with {too_few}")
    assert all(point.prediction is not None for point in some.grid)
    assert (none.status, none.message.startswith(too_few)) == ("failed", True)
    assert no_choice.status == "ok"
    assert no_choice.selection["recovery_basis"] is None
    training = tiny_plan(
        methods=methods, protocol={"repeats": 1}, selection={"recovery_rows": "training"}
    )
    assert {record.status for record in run_plan(training, tmp_path / "training").records} == {"ok"}


def changed_keys(*selections, **changes):
    one, other = (plan_cells(tiny_plan(selection=selection, **changes)) for selection in selections)
    return {a.method.name for a, b in zip(one, other, strict=True) if a.key != b.key}


def test_records_are_shared_by_equivalent_selections():
    methods = tiny_dict()["methods"] | {"GLLE": SMALL_GLLE}
    assert changed_keys({}, {"recovery_rows": "training"}, methods=methods) == {"DLDL", "GLLE"}
    tuned = {"DLDL", "GLLE", "PriorLE + SABFGS", "SABFGS on truth"}
    assert changed_keys({}, {"per_metric": True}, methods=methods) == tuned
    assert changed_keys({}, {"budget": 8}, methods=methods) == set()  # the size of the largest grid
    assert changed_keys({}, {"budget": 2}, methods=methods) == tuned - {"SABFGS on truth"}
    logical = {"mode": "logical"}
    assert changed_keys(logical, logical | {"per_metric": True}, methods=methods) == tuned


def test_selection_for_each_metric_separately(tmp_path):
    grid = {"beta": [0.01, 1.0, 100.0], "gamma": [0.01, 1.0]}
    plan = plan_with_one_repeat(methods={"DLDL": {"grid": grid}}, selection={"per_metric": True})
    one = tiny_plan(methods={"DLDL": {"grid": grid}}, protocol={"repeats": 1})
    record, usual = (
        run_plan(each, tmp_path / name).records[0] for each, name in ((plan, "own"), (one, "one"))
    )
    split = make_split(data_of(plan), plan.datasets[0], plan.protocol, 0)
    train, validation, test = split.train, split.validation, split.test
    points = [{"beta": beta, "gamma": gamma} for beta, gamma in itertools.product(*grid.values())]
    models = [DLDL(**point).fit(train.X, train.Y) for point in points]
    chosen = {"recovery": set(), "prediction": set()}
    for name, metric in METRICS.items():
        sign = -1 if metric.greater_is_better else 1
        scores = {
            "recovery": [
                metric.function(validation.D, each.enhance(validation.X, validation.Y))
                for each in models
            ],
            "prediction": [
                metric.function(validation.D, each.predict(validation.X)) for each in models
            ],
        }
        best = {task: int(np.argmin(sign * np.round(values, 9))) for task, values in scores.items()}
        expected = {
            "recovery": metric.function(train.D, models[best["recovery"]].label_distributions_),
            "prediction": metric.function(test.D, models[best["prediction"]].predict(test.X)),
        }
        for task, place in best.items():
            assert record.selected_by_metric[task][name] == points[place]
            assert getattr(record, task)[name] == pytest.approx(expected[task], rel=1e-4, abs=1e-6)
            chosen[task].add(place)
    assert len(chosen["recovery"] | chosen["prediction"]) > 1, (
        "the metrics should not agree, or nothing is tested"
    )
    assert record.selected == usual.selected
    assert record.grid == usual.grid
    assert usual.selected_by_metric == {}


BUDGETED = {
    "GLLE": SMALL_GLLE | {"grid": {"lam": [float(i) for i in range(1, 31)]}},
    "pair": {
        "estimator": "GLLE",
        "params": {"n_neighbors": 5},
        "grid": {"lam": [float(i) for i in range(1, 31)]},
        "learner": "SABFGS",
        "learner_grid": {"l2": [0.1, 1.0, 10.0]},
    },
    "small": {"estimator": "SABFGS", "grid": {"l2": [0.1, 10.0]}},
    "DLDL": {"grid": {"beta": [0.1, 0.3, 1.0, 3.0], "gamma": [0.1, 1.0, 10.0]}},
}
BUDGETED["stepwise"] = BUDGETED["pair"] | {"search": "stepwise"}


def test_budget_gives_every_method_the_same_number_of_points(tmp_path):
    plan = tiny_plan(methods=BUDGETED, selection={"budget": 7})
    run = run_plan(plan, tmp_path)
    counts = {record.method: record.n_points for record in run.records}
    assert counts == {"GLLE": 7, "pair": 7, "small": 2, "DLDL": 7, "stepwise": 7}
    for name in BUDGETED:
        first, second = (record_of(run, name, repeat) for repeat in range(2))
        assert first.selection["budget"] == 7
        points = [point.params for point in first.grid]
        if name != "stepwise":  # whose learner uses the parameters selected in each repeat
            assert points == [point.params for point in second.grid], (
                "all repeats try the same points"
            )
            assert len({json.dumps(point) for point in points}) == len(points)


def test_record_with_a_budget_does_not_depend_on_other_cells(tmp_path):
    selection = {"budget": 5}
    run = run_plan(plan_with_one_repeat(methods=BUDGETED, selection=selection), tmp_path / "all")
    for name in BUDGETED:
        alone = run_plan(
            plan_with_one_repeat(methods={name: BUDGETED[name]}, selection=selection),
            tmp_path / name,
        )
        assert record_of(alone, name).without_timing == record_of(run, name).without_timing


def test_sampled_points_depend_on_method_and_seed_and_are_nested():
    methods = {method.name: method for method in tiny_plan(methods=BUDGETED).methods}
    few, more = (set(draw_grid_indices(methods["pair"], budget, 0)) for budget in (6, 20))
    assert few < more
    assert len({first for first, _ in more}) > 5
    assert len({second for _, second in more}) == 3
    assert draw_grid_indices(methods["pair"], 6, 1) != draw_grid_indices(methods["pair"], 6, 0)
    assert draw_grid_indices(methods["GLLE"], 6, 0) == draw_grid_indices(
        replace(methods["GLLE"], name="other"), 6, 0
    )
    learners = {second for _, second in draw_grid_indices(methods["stepwise"], 4, 0)}
    assert len(learners) == 2
    not_full = [
        method
        for method in methods.values()
        if draw_grid_indices(method, None, 0) != draw_grid_indices(method, 90, 5)
    ]
    assert not_full == []


def test_sampled_points_are_uniform():
    """Over many seeds every point is sampled equally often."""
    method = MethodSpec("GLLE", "GLLE", grid={"lam": [float(i) for i in range(10)]})
    counts = np.bincount(
        [first for seed in range(600) for first, _ in draw_grid_indices(method, 3, seed)],
        minlength=10,
    )
    assert counts.sum() == 1800
    assert abs(counts - 180).max() < 5 * np.sqrt(600 * 0.3 * 0.7)


def test_neighbour_search_is_shared_by_methods_and_grid_points(tmp_path, monkeypatch):
    searched = []
    original = NearestNeighbors.kneighbors
    monkeypatch.setattr(
        NearestNeighbors,
        "kneighbors",
        lambda self, X=None, *args, **more: (
            (X is None and searched.append(len(self._fit_X))) or original(self, X, *args, **more)
        ),
    )
    monkeypatch.setattr("ldlearn.experiments.executors._neighbors", SharedNeighbors())
    methods = {
        "GLLE": SMALL_GLLE,
        "L2": {"params": {"n_neighbors": 5}, "grid": {"gamma": [0.01, 1.0]}},
        "DLDL": {"params": {"n_neighbors": 5, "alpha": 0.1}, "grid": {"sigma": [1.0, 2.0]}},
    }
    run = run_plan(plan_with_one_repeat(methods=methods), tmp_path)
    assert run.count("ok") == 3
    assert sorted(searched) == [
        12,
        36,
    ]  # once for the validation rows and once for the training rows


def test_pairs_train_the_learner_on_recovered_degrees(tiny):
    plan, run = tiny
    split = make_split(data_of(plan), plan.datasets[0], plan.protocol, 1)
    D = PriorLE().fit_enhance(split.train.X, split.train.Y)
    learners = {l2: SABFGS(l2=l2).fit(split.train.X, D) for l2 in (0.1, 1.0, 10.0)}
    values = {
        l2: chebyshev(split.validation.D, each.predict(split.validation.X))
        for l2, each in learners.items()
    }
    best = min(values, key=values.get)
    record = record_of(run, "PriorLE + SABFGS", 1)
    assert record.selected == {"prediction": {"learner__l2": best}}
    assert record.prediction == all_scores(
        split.test, learners[best].predict(split.test.X), labels=True
    )
    assert record.recovery is None
    assert (record.kind, record.trained_on) == ("two-step", "logical")


def test_single_learners_are_trained_on_true_degrees(tiny):
    plan, run = tiny
    split = make_split(data_of(plan), plan.datasets[0], plan.protocol, 0)
    record = record_of(run, "SABFGS on truth")
    model = SABFGS(**record.selected["prediction"]).fit(split.train.X, split.train.D)
    assert record.prediction == all_scores(split.test, model.predict(split.test.X), labels=True)
    assert record.trained_on == "truth"
    assert record.recovery is None


def test_enhancers_are_scored_for_recovery_on_training_rows(tiny):
    plan, run = tiny
    split = make_split(data_of(plan), plan.datasets[0], plan.protocol, 0)
    record = record_of(run, "PriorLE")
    assert record.recovery == all_scores(
        split.train, PriorLE().fit_enhance(split.train.X, split.train.Y)
    )
    assert record.prediction is None
    assert record.selection["recovery_basis"] is None  # no hyperparameters
    assert record_of(run, "DLDL").selection["recovery_basis"] == "validation rows"
    assert record.is_baseline


def test_record_fields(tiny):
    plan, run = tiny
    split = make_split(data_of(plan), plan.datasets[0], plan.protocol, 0)
    record = record_of(run, "DLDL")
    assert record.sizes == {
        "n_train": 36,
        "n_validation": 12,
        "n_test": 12,
        "n_features": 4,
        "n_labels": 3,
    }
    assert record.samples.rows == split.train.rows[:12].tolist()
    np.testing.assert_allclose(record.samples.truth, split.train.D[:12], atol=5e-5)
    np.testing.assert_array_equal(record.samples.logical, split.train.Y[:12])
    np.testing.assert_allclose(np.sum(record.samples.recovered, axis=1), 1, atol=2e-4)
    objective = record.convergence.objective
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(objective))
    assert 0 <= record.convergence.gap < 1e-3
    assert record.seconds["select"] >= record.seconds["fit"] > 0
    assert record.peak_memory_mb > 10
    assert {"python", "numpy", "scipy", "scikit-learn", "ldlearn"} <= set(record.versions)
    assert (record.threads, record.seed, record.status) == (1, 0, "ok")
    assert record_of(run, "DLDL", 1).seed == 1


def test_record_does_not_depend_on_other_cells(tiny, tmp_path):
    plan, run = tiny
    for name in ("PriorLE", "PriorLE + SABFGS"):
        content = {"methods": {name: next(m for m in plan.methods if m.name == name).to_dict()}}
        alone = run_plan(plan_with_one_repeat(**content), tmp_path / name)
        assert record_of(alone, name).without_timing == record_of(run, name).without_timing


def test_stepwise_selection_of_the_first_step_uses_recovery(tmp_path):
    pair = SMALL_GLLE | {"learner": "SABFGS", "learner_grid": {"l2": [0.1, 10.0]}}
    methods = {"GLLE": SMALL_GLLE, "pair": pair | {"search": "stepwise"}, "joint": pair}
    run = run_plan(tiny_plan(methods=methods, protocol={"repeats": 3}), tmp_path)
    for repeat in range(3):
        chosen = record_of(run, "GLLE", repeat).selected["recovery"]["lam"]
        stepwise, joint = record_of(run, "pair", repeat), record_of(run, "joint", repeat)
        assert stepwise.selected["prediction"]["enhancer__lam"] == chosen
        assert joint.validation["prediction"] <= stepwise.validation["prediction"]
        assert len(joint.grid) == 6
        assert (
            len(stepwise.grid) == 5
        )  # three enhancers scored, then two learners with the best one


def test_logical_selection_does_not_use_the_truth(tmp_path, monkeypatch):
    """Changed degrees with the same 0/1 labels must not change the selection."""
    methods = {
        "DLDL": {"grid": {"beta": [0.01, 1.0, 100.0], "gamma": [0.1, 10.0]}},
        "GLLE": {"grid": {"lam": [0.001, 1.0, 100.0]}},
        "GLLE + SABFGS": {
            "estimator": "GLLE",
            "grid": {"lam": [0.001, 100.0]},
            "learner": "SABFGS",
        },
    }
    plan = tiny_plan(methods=methods, selection={"mode": "logical"})
    run = run_plan(plan, tmp_path / "true")
    data = data_of(plan)
    flat = binarize(data.D) / binarize(data.D).sum(axis=1, keepdims=True)
    monkeypatch.setattr(
        "ldlearn.experiments.sources.DatasetSpec._load", lambda self: _with(data, flat)
    )
    other = run_plan(plan, tmp_path / "flat")
    for ours, theirs in zip(run.records, other.records, strict=True):
        assert ours.selected == theirs.selected
        assert ours.grid == theirs.grid
        assert (ours.recovery or ours.prediction) != (theirs.recovery or theirs.prediction)


def _with(data, D):
    import dataclasses

    return dataclasses.replace(data, D=D)


def test_logical_selection_uses_the_likelihood_of_labels(tmp_path):
    plan = plan_with_one_repeat(
        methods={"DLDL": {"grid": {"gamma": [0.01, 1.0, 100.0]}}}, selection={"mode": "logical"}
    )
    run = run_plan(plan, tmp_path)
    split = make_split(data_of(plan), plan.datasets[0], plan.protocol, 0)
    values = []
    for gamma in (0.01, 1.0, 100.0):
        model = DLDL(gamma=gamma).fit(split.train.X, split.train.Y)
        values.append(vote_likelihood(split.validation.Y, model.predict(split.validation.X)))
    record = record_of(run, "DLDL")
    np.testing.assert_allclose([point.prediction for point in record.grid], values, rtol=1e-4)
    assert (
        record.selected["recovery"]
        == record.selected["prediction"]
        == {"gamma": (0.01, 1.0, 100.0)[np.argmax(values)]}
    )
    assert record.selection["recovery_basis"] == "validation labels"


def test_score_metrics_are_maximised(tmp_path):
    plan = plan_with_one_repeat(
        methods={"GLLE": SMALL_GLLE}, selection={"recovery": "intersection"}
    )
    record = run_plan(plan, tmp_path).records[0]
    values = [point.recovery for point in record.grid]
    assert record.validation["recovery"] == max(values) > min(values)


def test_failing_grid_point_does_not_affect_others(tmp_path):
    # 36 training rows: 40 neighbours are impossible
    plan = plan_with_one_repeat(
        methods={"DLDL": {"params": {"alpha": 0.1}, "grid": {"n_neighbors": [5, 40]}}}
    )
    record = run_plan(plan, tmp_path).records[0]
    assert record.status == "ok"
    assert record.message.startswith("1 grid point failed, the first with InputError: n_neighbors")
    assert record.selected["recovery"] == {"n_neighbors": 5}
    assert "less than the number of rows" in record.grid[1].error
    plan = plan_with_one_repeat(methods={"DLDL": {"params": {"alpha": 0.1, "n_neighbors": 40}}})
    record = run_plan(plan, tmp_path).records[0]
    assert (record.status, record.recovery) == ("failed", None)
    assert "less than the number of rows" in record.message


def test_cells_with_the_same_first_step_are_computed_together():
    grid = {"lam": [1.0, 2.0]}
    pair = {"estimator": "GLLE", "grid": grid, "learner": "SABFGS"}
    methods = {
        "GLLE": {"grid": grid},
        "DLDL": {},
        "GLLE + SABFGS": pair,
        "other": {"estimator": "GLLE"},
    }
    groups = group_cells(plan_cells(plan_with_one_repeat(methods=methods)))
    assert [[cell.method.name for cell in group] for group in groups] == [
        ["GLLE", "GLLE + SABFGS"],
        ["DLDL"],
        ["other"],
    ]


def test_path_order_and_recorded_grid_order(tmp_path, monkeypatch):
    monkeypatch.setattr(DLDL, "path_params", ("beta", "gamma"))
    settings, original = [], DLDL.fit_path
    monkeypatch.setattr(
        DLDL,
        "fit_path",
        lambda self, X, y, given: settings.append(given) or original(self, X, y, given),
    )
    grid = {"beta": [0.1, 1.0], "gamma": [0.5, 2.0]}
    (record,) = run_plan(plan_with_one_repeat(methods={"DLDL": {"grid": grid}}), tmp_path).records
    assert [{point["gamma"] for point in given} for given in settings] == [{0.5}, {2.0}]
    assert [point.params for point in record.grid] == [
        {"beta": beta, "gamma": gamma} for beta in grid["beta"] for gamma in grid["gamma"]
    ]


def test_seeds_reach_the_estimators(tmp_path):
    params = {"init": "random", "n_neighbors": 3, "tol": 0.02}
    plan = tiny_plan(methods={"L2": {"params": params}})
    run = run_plan(plan, tmp_path)
    for repeat in range(2):
        split = make_split(data_of(plan), plan.datasets[0], plan.protocol, repeat)
        model = L2(**params, random_state=repeat).fit(split.train.X, split.train.Y)
        assert record_of(run, "L2", repeat).prediction == all_scores(
            split.test, model.predict(split.test.X), labels=True
        )


def test_warnings_of_a_cell_are_recorded(tmp_path, monkeypatch):
    import warnings

    original = PriorLE._fit

    def warn_and_fit(self, X, Y):
        warnings.warn("the labels are constant", UserWarning, stacklevel=2)
        original(self, X, Y)

    monkeypatch.setattr(PriorLE, "_fit", warn_and_fit)
    run = run_plan(plan_with_one_repeat(methods={"UniformLE": {}, "PriorLE": {}}), tmp_path)
    assert record_of(run, "PriorLE").warnings == ["the labels are constant"]
    assert record_of(run, "UniformLE").warnings == []


def test_generated_data_match_the_generator():
    plan = tiny_plan()
    made = make_label_distributions(n_samples=60, n_features=4, n_labels=3, sparsity=0.3)
    np.testing.assert_array_equal(data_of(plan).D, made.D)
