"""Grid search: fit every point of cells that share an estimator, score it on the validation rows,
record the best."""

import json
import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ldlearn.core.simplex import Array, normalize_rows
from ldlearn.evaluation import Convergence, GridPoint, Record, SampleRows, Task
from ldlearn.evaluation.formatting import plural
from ldlearn.exceptions import InputError
from ldlearn.experiments.cells import Cell, GridIndex, estimator_indices
from ldlearn.experiments.methods import build_estimator, grid_points, resolve_params
from ldlearn.experiments.plan import Selection
from ldlearn.experiments.splits import N_SHOWN, Split, SplitPart
from ldlearn.learning import SABFGS
from ldlearn.metrics import LABEL_METRICS, METRICS, get_metric, score_all
from ldlearn.metrics.inputs import Convention
from ldlearn.solvers.default_gamma import ScaleWarning

Facts = dict[str, Any]  # fields of a record by their names
# Rows whose degrees are kept where the true ones are unknown, to compare methods with each other
_N_DEGREES_KEPT = 100
_DIVIDING_METRICS = ("clark", "canberra", "kl_divergence")  # they divide by degrees
_CODE_WARNINGS = (
    DeprecationWarning,
    PendingDeprecationWarning,
    FutureWarning,
    ImportWarning,
    ResourceWarning,
)
_DROPPED_WARNINGS = (
    *_CODE_WARNINGS,
    ScaleWarning,
)  # the plan, or the preprocessing of a table, scales the features


@dataclass
class FittedPoint:
    """A grid point and the model fitted at it, or the error of the fit."""

    index: GridIndex
    params: dict[str, Any]
    model: Any = None
    seconds: float = 0.0
    error: Exception | None = None


def search(cells: Sequence[Cell], split: Split, **circumstances: Any) -> list[Record]:
    """FittedPoint and score every grid point of cells that share their first step.

    Parameters
    ----------
    cells : sequence of Cell
        Of one data set and repeat, whose methods begin with the same estimator, parameters and
        grid.
    split : Split
        Of that data set and repeat.
    **circumstances
        Further fields of the records.

    Returns
    -------
    list of Record
        One for each cell.
    """
    searches = [_CellSearch(cell, split) for cell in cells]
    fits = _fit_grid(cells, split)
    while True:
        # Not a for loop: warnings of a fit belong to every cell that shares it, those of its
        # scoring to one cell.
        messages: list[str] = []
        with captured_warnings(messages):
            fit = next(fits, None)
        if fit is None:
            return [each.record(**circumstances) for each in searches]
        for each in searches:
            each.warnings += messages
            each.add_fit(fit)


def _fit_grid(cells: Sequence[Cell], split: Split) -> Iterator[FittedPoint]:
    """Models of the grid points; those of a path are fitted together, others one by one, so that
    one may fail."""
    method = cells[0].method
    grid = grid_points(cells[0].method.grid)
    fixed = resolve_params(method.params, split.sizes)
    T = split.train.Y if method.trained_on == "logical" else split.train.truth
    paths: dict[Any, list[int]] = {}
    for index in estimator_indices(cells):
        # A path varies all path parameters but the last, a change of which costs most, and no other
        # parameters.
        constant = {
            name: value
            for name, value in grid[index].items()
            if name not in method.path_params[:-1]
        }
        paths.setdefault(json.dumps(constant) if method.path_params else index, []).append(index)
    for indices in paths.values():
        points = [resolve_params(grid[index], split.sizes) for index in indices]
        waiting = [((index, 0), point) for index, point in zip(indices, points, strict=True)]
        started = time.process_time()
        try:
            first = build_estimator(method.estimator, fixed | points[0], cells[0].seed)
            settings = [
                {key: value for key, value in point.items() if key in method.path_params}
                for point in points
            ]
            for model in first.fit_path(split.train.X, T, settings):
                yield FittedPoint(*waiting.pop(0), model, time.process_time() - started)
                started = time.process_time()  # models are scored between two fits
        except Exception as error:
            # Models fitted before the error stay valid; those still waiting have failed.
            yield from (FittedPoint(*each, error=error) for each in waiting)


class ValidationRowsError(InputError):
    """The validation rows cannot score a model, for instance because they are fewer than its
    neighbours."""


def validation_scores(
    task: Task, model: Any, split: Split, selection: Selection
) -> dict[str, float]:
    """Scores of a fitted model on the validation rows, by the metrics that select hyperparameters
    for a task."""
    validation = split.validation
    metrics = selection.metrics_for(task)
    if selection.mode == "logical":
        return _label_scores(model, split, metrics)
    if task == "prediction":
        return score_all(validation.truth, model.predict(validation.X), metrics)
    if selection.recovery_rows == "training":
        return score_all(split.train.truth, model.label_distributions_, metrics)
    if model.can_enhance:
        return score_all(validation.truth, model.enhance(validation.X, validation.Y), metrics)
    try:
        # A clone, because the fitted model may still be selected.
        refitted = clone(model).fit(validation.X, validation.Y)
    except Exception as error:
        raise ValidationRowsError(
            f"{len(validation.Y)} validation rows give no score: {_one_line(error)}"
        ) from error
    return score_all(validation.truth, refitted.label_distributions_, metrics)


def _label_scores(model: Any, split: Split, metrics: list[str]) -> dict[str, float]:
    """Scores of predictions against 0/1 labels, or against equal degrees of the positive labels,
    for both tasks."""
    train = split.train
    validation = split.validation
    # The same learner with its defaults for every enhancer, so that only what they recover can
    # differ.
    learner = (
        model if hasattr(model, "predict") else SABFGS().fit(train.X, model.label_distributions_)
    )
    P = learner.predict(validation.X)
    ours = [name for name in metrics if get_metric(name).against_labels]
    scores = score_all(validation.Y, P, ours)
    if not np.isnan(validation.Y).any():
        shares = normalize_rows(validation.Y.astype(float))
        return scores | score_all(shares, P, [name for name in metrics if name not in ours])
    # Further metrics that need every label are left out; the one that selects cannot be.
    if metrics[0] not in ours:
        raise ValidationRowsError(
            f'{metrics[0]} needs every label; write prediction = "vote_likelihood".'
        )
    return scores


class _CellSearch:
    """Scores the fitted models for one cell and keeps the best for each task and metric."""

    def __init__(self, cell: Cell, split: Split) -> None:
        self.cell = cell
        self.method = cell.method
        self.split = split
        self.warnings: list[str] = []
        self._points: list[tuple[GridIndex, GridPoint]] = []
        # By task and metric: order, score and fit.
        self._best: dict[Task, dict[str, tuple[Any, float, FittedPoint]]] = {}
        self._seconds = 0.0

    def add_fit(self, fit: FittedPoint) -> None:
        """Score a model, or the learners trained on its output; after a failure the other points
        can still be used."""
        if fit.index[0] not in estimator_indices([self.cell]):  # drawn for another cell
            return
        started = time.process_time()
        with captured_warnings(self.warnings), self._recording_failures(fit):
            if fit.error is not None:
                # Here, so that errors of fits and of scores are recorded in the same way
                raise fit.error
            if self.method.is_stepwise:
                self._score(fit, ["recovery"])
            elif self.method.learner:
                self._fit_learners(fit)
            else:
                self._score(fit, self.method.tasks)
        self._seconds += fit.seconds + time.process_time() - started

    @contextmanager
    def _recording_failures(self, fit: FittedPoint) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._points.append((fit.index, GridPoint(fit.params, error=error_message(error))))

    def _score(self, fit: FittedPoint, tasks: Iterable[Task]) -> None:
        values: Facts = {}
        for task in tasks:
            try:
                scores = (
                    validation_scores(task, fit.model, self.split, self.cell.selection)
                    if self.cell.tuned
                    else {}
                )
            except ValidationRowsError as error:  # for one task; the other may still be scored
                values["error"] = str(error)
                continue
            best = self._best.setdefault(task, {})
            for metric in self.cell.selection.metrics_for(task):
                value = scores.get(metric, math.nan)
                values.setdefault(task, value)
                # Of equal points the first of the grid is selected.
                found = ((get_metric(metric).sort_key(value), fit.index), value, fit)
                best[metric] = min(best.get(metric, found), found, key=lambda entry: entry[0])
        self._points.append((fit.index, GridPoint(fit.params, **values)))

    def _fit_learners(self, fit: FittedPoint) -> None:
        """Train the learner of a pair, with every point of its grid, on the recovered degrees."""
        assert self.method.learner is not None
        D = np.asarray(fit.model.label_distributions_, dtype=float)
        fixed = resolve_params(self.method.learner_params, self.split.sizes)
        grid = grid_points(self.method.learner_grid)
        for index in (index for index in self.cell.grid_indices if index[0] == fit.index[0]):
            own = resolve_params(grid[index[1]], self.split.sizes)
            started = time.process_time()
            learner = build_estimator(self.method.learner, fixed | own, self.cell.seed).fit(
                self.split.train.X, D
            )
            seconds = fit.seconds + time.process_time() - started
            params = {f"enhancer__{key}": value for key, value in fit.params.items()}
            params |= {f"learner__{key}": value for key, value in own.items()}
            self._score(FittedPoint(index, params, learner, seconds), ["prediction"])

    def record(self, **circumstances: Any) -> Record:
        """The record of the cell; only the selected models are scored by all metrics."""
        started = time.process_time()
        with captured_warnings(self.warnings):
            if self.method.is_stepwise and (
                best := self._best.pop("recovery", {}).get(self.cell.selection.recovery)
            ):
                # Recovery is no task of a pair; from here on its predictions compete.
                with self._recording_failures(best[2]):
                    self._fit_learners(best[2])
            outcomes = {task: self._describe_selected(task) for task in self._best}
        self._seconds += time.process_time() - started
        # A path takes its points from all over the grid.
        grid = [point for _, point in sorted(self._points, key=lambda entry: entry[0])]
        failed = [point.error for point in grid if point.error]
        found = circumstances | {
            "warnings": list(dict.fromkeys(self.warnings))[:5],  # the first different ones
            "grid": grid,
            "n_points": len(grid),
            "seconds": {"select": round(self._seconds, 4), "fit": 0.0, "predict": 0.0},
        }
        if set(outcomes) != set(self.method.tasks):
            return self.cell.record(
                "failed", failed[0] if failed else "No grid point gave a result.", **found
            )
        for task, outcome in outcomes.items():
            found[task] = outcome.pop("scores")
            # Both tasks may show different models; the times are those of the one that predicts,
            # which comes last.
            found["seconds"] |= outcome.pop("seconds")
            found |= {key: outcome.pop(key) for key in ("samples", "convergence") if key in outcome}
            for key, value in outcome.items():
                found.setdefault(key, {})[task] = value
        message = (
            f"{plural(len(failed), 'grid point')} failed, the first with {failed[0]}"
            if failed
            else ""
        )
        return self.cell.record("ok", message, **found)

    def _describe_selected(self, task: Task) -> Facts:
        """Fields of a record, by their names, about the models selected for a task; that of the
        first metric is shown.

        Metrics that selected for themselves have the scores of their own models.
        """
        selected = {metric: fit for metric, (_, _, fit) in self._best[task].items()}
        describe = self._describe_recovery if task == "recovery" else self._describe_prediction
        # Several metrics may select the same model.
        facts = {
            index: describe(fit.model)
            for index, fit in {fit.index: fit for fit in selected.values()}.items()
        }
        first, shown = next(iter(selected.items()))
        outcome = dict(facts[shown.index])
        for key in ("scores", "paper_zeros"):
            outcome[key] = {
                name: facts[selected.get(name, shown).index][key].get(name) for name in outcome[key]
            }
        if len(selected) > 1:
            outcome["selected_by_metric"] = {metric: fit.params for metric, fit in selected.items()}
        outcome["seconds"] = {"fit": round(shown.seconds, 4)} | outcome.get("seconds", {})
        return outcome | {"selected": shown.params, "validation": self._best[task][first][1]}

    def _describe_recovery(self, model: Any) -> Facts:
        train = self.split.train
        shown = slice(None, N_SHOWN)
        D = np.asarray(model.label_distributions_, dtype=float)
        truth = None if train.D is None else train.D[shown].round(4).tolist()
        # Pictures have no sign for labels that are not observed.
        labels = None if np.isnan(train.Y[shown]).any() else train.Y[shown].astype(int).tolist()
        degrees = D[shown].round(4).tolist()
        texts = list(self.split.texts)
        samples = SampleRows(train.rows[shown].tolist(), truth, labels, degrees, texts)
        return describe_degrees(train, D, "recovery") | {
            "samples": samples,
            "convergence": Convergence.from_estimator(model),
        }

    def _describe_prediction(self, model: Any) -> Facts:
        test = self.split.test
        started = time.process_time()
        P = np.asarray(model.predict(test.X), dtype=float)
        seconds = {"predict": round(time.process_time() - started, 4)}
        return {"seconds": seconds} | describe_degrees(test, P, "prediction")


def describe_degrees(part: SplitPart, degrees: Array, task: str) -> Facts:
    """Scores by every metric; where the true degrees are unknown, degrees to compare with those of
    other methods."""
    # Recovered degrees were learned from the 0/1 labels of the same rows.
    scores = score_all(part.Y, degrees, list(LABEL_METRICS)) if task == "prediction" else {}
    if part.D is None:
        return {
            "scores": scores,
            "paper_zeros": {},
            "degrees": degrees[:_N_DEGREES_KEPT].round(4).tolist(),
        }
    zeros: Convention = "dldl-recovery" if task == "recovery" else "dldl"
    paper = score_all(part.D, degrees, _DIVIDING_METRICS, convention=zeros)
    return {"scores": score_all(part.D, degrees, list(METRICS)) | scores, "paper_zeros": paper}


@contextmanager
def captured_warnings(messages: list[str]) -> Iterator[None]:
    """Append warnings to a list instead of showing them; those about code and scaling, not results,
    are dropped."""
    # "always": a record must not depend on the filters of the user, or of the process it was made
    # in.
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            yield
        finally:  # a fit that fails may have warned before
            messages += [
                _one_line(entry.message)
                for entry in caught
                if not issubclass(entry.category, _DROPPED_WARNINGS)
            ]


def error_message(error: Exception) -> str:
    """Class and message of an error in one line."""
    return f"{type(error).__name__}: {_one_line(error)}"


def _one_line(message: Exception | str) -> str:
    return " ".join(str(message).split())
