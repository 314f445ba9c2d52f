"""Grid search: fit every grid point, score it on the validation rows, record the best."""

import json
import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from ldlearn.core.simplex import Array, normalize_rows
from ldlearn.core.targets import votes_to_degrees
from ldlearn.evaluation import Convergence, GridPoint, Record, SampleRows, Task
from ldlearn.evaluation.formatting import plural
from ldlearn.exceptions import InputError
from ldlearn.experiments.cells import Cell, GridIndex, estimator_indices
from ldlearn.experiments.methods import build_estimator, grid_points, resolve_params
from ldlearn.experiments.splits import DataSplit, SplitPart
from ldlearn.experiments.toml_table import Settings
from ldlearn.learning import SABFGS
from ldlearn.metrics import LABEL_METRICS, METRICS, get_metric, score_all
from ldlearn.metrics.inputs import Convention
from ldlearn.solvers.default_gamma import ScaleWarning

Facts = dict[str, Any]  # fields of a record by their names
# Rows whose degrees are kept where the true ones are unknown, to compare methods with each other
_N_DEGREES_KEPT = 100
_DIVIDING_METRICS = ("clark", "canberra", "kl_divergence")  # they divide by degrees
# About code; or about scaling, which the plan or the preprocessing of a table does.
_DROPPED_WARNINGS = (
    DeprecationWarning,
    PendingDeprecationWarning,
    FutureWarning,
    ImportWarning,
    ResourceWarning,
    ScaleWarning,
)


@dataclass
class _FittedPoint:
    """A grid point and the model fitted at it, or the error of the fit."""

    index: GridIndex
    params: Settings
    model: Any = None
    seconds: float = 0.0
    warnings: list[str] = field(default_factory=list)


def search(cells: Sequence[Cell], split: DataSplit, **circumstances: Any) -> list[Record]:
    """Fit and score every grid point of cells that share their first step.

    Parameters
    ----------
    cells : sequence of Cell
        Cells of one data set and repeat, whose methods begin with the same estimator, parameters
        and grid.
    split : DataSplit
        The split of that data set and repeat.
    **circumstances
        Further fields of the records.

    Returns
    -------
    list of Record
        One for each cell.
    """
    searches = [_CellSearch(cell, split) for cell in cells]
    for fit in _fit_grid(cells, split):
        for each in searches:
            each.add_fit(fit)
    return [each.record(**circumstances) for each in searches]


def _fit_grid(cells: Sequence[Cell], split: DataSplit) -> Iterator[_FittedPoint]:
    """Models of the grid points; those of a path are fitted together, others one by one."""
    method = cells[0].method
    grid = grid_points(method.grid)
    paths: dict[str, list[_FittedPoint]] = {}
    for index in estimator_indices(cells):
        # A path varies all path parameters but the last, a change of which costs most, and no other
        # parameters.
        constant = grid[index].copy()
        for name in method.path_params[:-1]:
            constant.pop(name, None)
        point = _FittedPoint((index, 0), resolve_params(grid[index], split.sizes))
        paths.setdefault(json.dumps(constant), []).append(point)
    for points in paths.values():
        models = _fit_path(cells[0], split, points)
        for point in points:
            started = time.process_time()
            with captured_warnings(point.warnings):
                point.model = next(models)
            point.seconds = time.process_time() - started
            yield point


def _fit_path(cell: Cell, split: DataSplit, points: Sequence[_FittedPoint]) -> Iterator[Any]:
    """Models of the points; after an error this error for each of the others."""
    method = cell.method
    settings = []
    for point in points:
        names = point.params.keys() & set(method.path_params)
        settings.append({name: point.params[name] for name in names})
    try:
        y, row_data = _training_targets(cell, split.train)
        params = resolve_params(method.params, split.sizes) | points[0].params
        first = build_estimator(method.estimator, params, cell.seed)
        yield from first.fit_path(split.train.X, y, settings, **row_data)
    except Exception as error:
        yield from repeat(error)


def _training_targets(cell: Cell, part: SplitPart) -> tuple[Array, Facts]:
    """What the first step of a method is fitted on: y, and what else it takes by row."""
    if cell.trained_on == "logical":
        return part.Y, {}
    if cell.trained_on == "truth":
        return part.truth, {}
    assert part.votes is not None
    if cell.method.takes_counts:
        return part.votes, {}
    shares, n_votes = votes_to_degrees(part.votes)
    estimator = cell.method.steps[0]
    if get_tags(estimator()).sample_weight:
        return shares, {"sample_weight": n_votes}
    warnings.warn(
        f"{estimator.__name__} takes no sample weights: every row counts once, whatever its "
        "number of votes.",
        stacklevel=2,
    )
    return shares, {}


class _ValidationRowsError(InputError):
    """The validation rows cannot score a model, for instance because they are too few."""


class _CellSearch:
    """Scores the fitted models for one cell and keeps the best for each task and metric."""

    def __init__(self, cell: Cell, split: DataSplit) -> None:
        self.cell = cell
        self.method = cell.method
        self.split = split
        self._warnings: list[str] = []
        self._points: list[tuple[GridIndex, GridPoint]] = []
        # By task and metric: order, score and fit.
        self._best: dict[Task, dict[str, tuple[Any, float, _FittedPoint]]] = {}
        self._seconds = 0.0

    def add_fit(self, fit: _FittedPoint) -> None:
        """Score a model, or the learners trained on its output.

        After a failure the other points can still be used.
        """
        if fit.index[0] not in estimator_indices([self.cell]):  # drawn for another cell
            return
        started = time.process_time()
        self._warnings += fit.warnings
        with captured_warnings(self._warnings), self._recording_failures(fit):
            if isinstance(fit.model, Exception):
                raise fit.model
            if self.method.is_stepwise:
                self._score(fit, ["recovery"])
            elif self.method.learner:
                self._fit_learners(fit)
            else:
                self._score(fit, self.method.tasks)
        self._seconds += fit.seconds + time.process_time() - started

    @contextmanager
    def _recording_failures(self, fit: _FittedPoint) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._points.append((fit.index, GridPoint(fit.params, error=error_message(error))))

    def _score(self, fit: _FittedPoint, tasks: Iterable[Task]) -> None:
        values: Facts = {}
        for task in tasks:
            metrics = self.cell.selection.metrics_for(task)
            scores = {}
            try:
                if self.cell.tuned:
                    scores = self._validation_scores(task, fit.model, metrics)
            except _ValidationRowsError as error:  # for one task; the other may still be scored
                values["error"] = str(error)
                continue
            best = self._best.setdefault(task, {})
            for metric in metrics:
                value = scores.get(metric, math.nan)
                values.setdefault(task, value)
                # Of equal points the first of the grid is selected.
                found = ((get_metric(metric).sort_key(value), fit.index), value, fit)
                best[metric] = min(best.get(metric, found), found, key=itemgetter(0))
        self._points.append((fit.index, GridPoint(fit.params, **values)))

    def _validation_scores(self, task: Task, model: Any, metrics: list[str]) -> dict[str, float]:
        """Scores of a fitted model on the rows that select hyperparameters for a task."""
        validation = self.split.validation
        selection = self.cell.selection
        if selection.mode == "logical":
            return self._label_scores(model, metrics)
        if task == "prediction":
            return validation.score(model.predict(validation.X), metrics)
        if selection.recovery_rows == "training":
            return self.split.train.score(model.label_distributions_, metrics)
        y, row_data = _training_targets(self.cell, validation)
        if model.can_enhance:
            return validation.score(model.enhance(validation.X, y), metrics)
        try:
            # A clone, because the fitted model may still be selected.
            refitted = clone(model).fit(validation.X, y, **row_data)
        except Exception as error:
            raise _ValidationRowsError(
                f"{len(validation.Y)} validation rows give no score: {_one_line(error)}"
            ) from error
        return validation.score(refitted.label_distributions_, metrics)

    def _label_scores(self, model: Any, metrics: list[str]) -> dict[str, float]:
        """Scores of predictions, for both tasks, where only 0/1 labels are known.

        Predictions are compared with the labels, or with equal degrees of the positive ones.
        """
        validation = self.split.validation
        if not hasattr(model, "predict"):
            # The same learner with its defaults for every enhancer, so that only what they recover
            # can differ.
            model = SABFGS().fit(self.split.train.X, model.label_distributions_)
        P = model.predict(validation.X)
        between_degrees = [name for name in metrics if name in METRICS]
        against_labels = [name for name in metrics if name in LABEL_METRICS]
        scores = score_all(validation.Y, P, against_labels)
        if not np.isnan(validation.Y).any():
            shares = normalize_rows(validation.Y.astype(float))
            return scores | score_all(shares, P, between_degrees)
        # Further metrics that need every label are left out; the one that selects cannot be.
        if metrics[0] in between_degrees:
            raise _ValidationRowsError(
                f'{metrics[0]} needs every label; write prediction = "vote_likelihood".'
            )
        return scores

    def _fit_learners(self, fit: _FittedPoint) -> None:
        """Train the learner of a pair, with every point of its grid, on the recovered degrees."""
        assert self.method.learner is not None
        sizes = self.split.sizes
        D = np.asarray(fit.model.label_distributions_, dtype=float)
        fixed = resolve_params(self.method.learner_params, sizes)
        grid = grid_points(self.method.learner_grid)
        for index in self.cell.grid_indices:
            if index[0] != fit.index[0]:
                continue
            own = resolve_params(grid[index[1]], sizes)
            started = time.process_time()
            learner = build_estimator(self.method.learner, fixed | own, self.cell.seed)
            learner.fit(self.split.train.X, D)
            seconds = fit.seconds + time.process_time() - started
            params = {}
            for step, step_params in (("enhancer", fit.params), ("learner", own)):
                for name, value in step_params.items():
                    params[f"{step}__{name}"] = value
            self._score(_FittedPoint(index, params, learner, seconds), ["prediction"])

    def record(self, **found: Any) -> Record:
        """The record of the cell; only the selected models are scored by all metrics."""
        started = time.process_time()
        found["seconds"] = {"select": 0.0, "fit": 0.0, "predict": 0.0}
        with captured_warnings(self._warnings):
            if self.method.is_stepwise and "recovery" in self._best:
                # Recovery is no task of a pair; from here on its predictions compete.
                _, _, fit = self._best.pop("recovery")[self.cell.selection.recovery]
                with self._recording_failures(fit):
                    self._fit_learners(fit)
            is_complete = set(self._best) == set(self.method.tasks)
            if is_complete:
                # Both tasks may show different models; the times are those of the one that
                # predicts, which comes last.
                for task in self.method.tasks:
                    self._describe_selected(task, found)
        self._seconds += time.process_time() - started
        found["seconds"]["select"] = round(self._seconds, 4)
        grid = []
        errors = []
        # A path takes its points from all over the grid.
        for _, point in sorted(self._points, key=itemgetter(0)):
            grid.append(point)
            if point.error:
                errors.append(point.error)
        found |= {"grid": grid, "n_points": len(grid)}
        found["warnings"] = list(dict.fromkeys(self._warnings))[:5]  # the first different ones
        if not is_complete:
            errors.append("No grid point gave a result.")
            return self.cell.record("failed", errors[0], **found)
        message = ""
        if errors:
            message = f"{plural(len(errors), 'grid point')} failed, the first with {errors[0]}"
        return self.cell.record("ok", message, **found)

    def _describe_selected(self, task: Task, found: Facts) -> None:
        """Fields of the record about the models selected for a task.

        The model of the first metric is shown. Metrics that selected for themselves have the scores
        of their own models.
        """
        selected = {metric: fit for metric, (_, _, fit) in self._best[task].items()}
        first, shown = next(iter(selected.items()))
        is_recovery = task == "recovery"
        part = self.split.train if is_recovery else self.split.test
        facts = {}
        seconds = []
        for fit in selected.values():
            if fit.index in facts:  # several metrics may select the same model
                continue
            started = time.process_time()
            degrees = fit.model.label_distributions_ if is_recovery else fit.model.predict(part.X)
            seconds.append(time.process_time() - started)
            facts[fit.index] = describe_degrees(part, np.asarray(degrees, dtype=float), task)
        found["seconds"] |= {"fit": round(shown.seconds, 4), "predict": round(seconds[0], 4)}
        outcome = facts[shown.index]
        outcome |= {"selected": shown.params, "validation": self._best[task][first][1]}
        for metric, fit in selected.items():
            for key in ("scores", "paper_zeros"):
                if metric in outcome[key]:
                    outcome[key][metric] = facts[fit.index][key][metric]
        if len(selected) > 1:
            outcome["selected_by_metric"] = {metric: fit.params for metric, fit in selected.items()}
        add_facts(found, task, outcome)
        if is_recovery:
            found["samples"] = self._describe_rows(shown.model)
            found["convergence"] = Convergence.from_estimator(shown.model)

    def _describe_rows(self, model: Any) -> SampleRows:
        train = self.split.train
        shown = train.shown
        recovered = np.asarray(model.label_distributions_[shown], dtype=float)
        found: Facts = {"rows": train.rows[shown].tolist(), "texts": self.split.texts}
        found["recovered"] = recovered.round(4).tolist()
        if train.D is not None:
            found["truth"] = train.D[shown].round(4).tolist()
        if train.votes is not None:
            found["votes"] = train.votes[shown].tolist()
        # Pictures have no sign for labels that are not observed.
        if not np.isnan(train.Y[shown]).any():
            found["logical"] = train.Y[shown].astype(int).tolist()
        return SampleRows(**found)


def describe_degrees(part: SplitPart, degrees: Array, task: str) -> Facts:
    """Scores by every metric, and degrees where the true ones are unknown.

    These degrees are compared with those of other methods.
    """
    facts: Facts = {"scores": {}, "paper_zeros": {}}
    if part.D is None:
        facts["degrees"] = degrees[:_N_DEGREES_KEPT].round(4).tolist()
    else:
        zeros: Convention = "dldl-recovery" if task == "recovery" else "dldl"
        facts["scores"] = part.score(degrees, list(METRICS))
        facts["paper_zeros"] = part.score(degrees, _DIVIDING_METRICS, zeros)
    # Recovered degrees were learned from the 0/1 labels of the same rows.
    if task == "prediction":
        facts["scores"] |= score_all(part.Y, degrees, list(LABEL_METRICS))
    return facts


def add_facts(found: Facts, task: str, facts: Facts) -> None:
    """Add facts about a task to the fields of a record.

    Scores are a field of their own, other fields are mappings by task.
    """
    found[task] = facts.pop("scores")
    for field_name, value in facts.items():
        found.setdefault(field_name, {})[task] = value


@contextmanager
def captured_warnings(messages: list[str]) -> Iterator[None]:
    """Append warnings to a list instead of showing them.

    Those about code and scaling, not results, are dropped.
    """
    # "always": a record must not depend on the filters of the user, or of the process it was made
    # in.
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            yield
        finally:  # a fit that fails may have warned before
            for entry in caught:
                if not issubclass(entry.category, _DROPPED_WARNINGS):
                    messages.append(_one_line(entry.message))


def error_message(error: Exception) -> str:
    """Class and message of an error in one line."""
    return f"{type(error).__name__}: {_one_line(error)}"


def _one_line(message: Exception | str) -> str:
    return " ".join(str(message).split())
