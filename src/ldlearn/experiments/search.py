"""Grid search: fit every point of cells that share an estimator, score it on the validation rows, record the best."""

import json
import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ldlearn.core.simplex import normalize_rows
from ldlearn.evaluation import TASKS, Convergence, GridPoint, Record, Samples, Task
from ldlearn.evaluation.formatting import plural
from ldlearn.exceptions import InputError
from ldlearn.experiments.cells import Cell, GridIndex, estimator_indices
from ldlearn.experiments.methods import build, grid_points, resolve
from ldlearn.experiments.plan import Selection
from ldlearn.experiments.splits import N_SHOWN, Part, Split
from ldlearn.learning import SABFGS
from ldlearn.metrics import LABEL_METRICS, get_metric, score_all
from ldlearn.metrics.inputs import Convention

_DEGREES = 100  # rows whose degrees are kept where the true ones are unknown, to compare methods with each other
_ZEROS_MATTER = ("clark", "canberra", "kl_divergence")  # they divide by degrees
_ABOUT_CODE = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)
# Rows that select hyperparameters for recovery where true degrees are known.
_TRAINING, _ENHANCED, _FITTED_AGAIN = "training rows", "validation rows, enhanced", "validation rows, fitted again"


@dataclass
class Fit:
    """A grid point and the model fitted at it, or the error of the fit."""

    index: GridIndex
    params: dict[str, Any]
    model: Any = None
    seconds: float = 0.0
    error: Exception | None = None


def search(cells: Sequence[Cell], split: Split, **circumstances: Any) -> list[Record]:
    """Fit and score every grid point of cells that share their first step.

    Parameters
    ----------
    cells : sequence of Cell
        Of one data set and repeat, whose methods begin with the same estimator, parameters and grid.
    split : Split
        Of that data set and repeat.
    **circumstances
        Further fields of the records.

    Returns
    -------
    list of Record
        One for each cell.
    """
    scorer = ValidationScorer(split, cells[0].selection)
    searches = [_CellSearch(cell, scorer) for cell in cells]
    fits = _fit_grid(cells, split)
    while True:
        # Not a for loop: warnings of a fit belong to every cell that shares it, those of its scoring to one cell.
        messages: list[str] = []
        with captured_warnings(messages):
            fit = next(fits, None)
        if fit is None:
            return [each.record(**circumstances) for each in searches]
        for each in searches:
            each.warnings += messages
            each.add(fit)


def _fit_grid(cells: Sequence[Cell], split: Split) -> Iterator[Fit]:
    """Models of the grid points; those of a path are fitted together, others one by one, so that one may fail."""
    method, grid = cells[0].method, grid_points(cells[0].method.grid)
    fixed = resolve(method.params, split.sizes)
    T = split.train.Y if method.trained_on == "logical" else split.train.truth
    paths: dict[Any, list[int]] = {}
    for index in estimator_indices(cells):
        # A path varies all path parameters but the last, a change of which costs most, and no other parameters.
        constant = {name: value for name, value in grid[index].items() if name not in method.path_params[:-1]}
        paths.setdefault(json.dumps(constant) if method.path_params else index, []).append(index)
    for indices in paths.values():
        points = [resolve(grid[index], split.sizes) for index in indices]
        waiting = [((index, 0), point) for index, point in zip(indices, points, strict=True)]
        started = time.perf_counter()
        try:
            first = build(method.estimator, fixed | points[0], cells[0].seed)
            settings = [{key: value for key, value in point.items() if key in method.path_params} for point in points]
            for model in first.fit_path(split.train.X, T, settings):
                yield Fit(*waiting.pop(0), model, time.perf_counter() - started)
                started = time.perf_counter()  # models are scored between two fits
        except Exception as error:
            # Models fitted before the error stay valid; those still waiting have failed.
            yield from (Fit(*each, error=error) for each in waiting)


class ValidationRowsError(InputError):
    """The validation rows cannot score a model, for instance because they are fewer than its neighbours."""


class ValidationScorer:
    """Scores of fitted models by which one of them is selected.

    Parameters
    ----------
    split : Split
    selection : Selection
        Under ``"oracle"`` predictions are compared with the true degrees. Under ``"logical"`` only 0/1 labels are used:
        their likelihood, or another metric against observed labels; metrics between distributions compare with equal
        degrees of the positive labels.
    """

    def __init__(self, split: Split, selection: Selection) -> None:
        self.split, self.selection = split, selection
        self.oracle = selection.mode == "oracle"

    def basis(self, model: Any) -> str:
        """The rows that select hyperparameters for recovery, as the record names them."""
        if not self.oracle:
            return "validation labels, predicted"
        if self.selection.recovery_rows == "training":
            return _TRAINING
        return _ENHANCED if model.can_enhance else _FITTED_AGAIN

    def needs_another_fit(self, task: str, model: Any) -> bool:
        """Whether the scores cost another fit."""
        if not self.oracle:
            return not hasattr(model, "predict")
        return task == "recovery" and self.basis(model) == _FITTED_AGAIN

    def scores(self, task: str, model: Any) -> dict[str, float]:
        """Scores of a model by the metrics that select."""
        metrics = self.selection.metrics_for(task)
        if not self.oracle:
            return self._scores_of_labels(model, metrics)
        if task == "recovery":
            return score_all(*self._recovered(model), metrics)
        return score_all(self.split.validation.truth, model.predict(self.split.validation.X), metrics)

    def _scores_of_labels(self, model: Any, metrics: list[str]) -> dict[str, float]:
        """Scores of predictions against 0/1 labels, for both tasks; enhancers get a learner."""
        train, validation = self.split.train, self.split.validation
        # The same learner with its defaults for every enhancer, so that only what they recover can differ.
        learner = model if hasattr(model, "predict") else SABFGS().fit(train.X, model.label_distributions_)
        P = learner.predict(validation.X)
        ours = [name for name in metrics if get_metric(name).against_labels]
        scores = score_all(validation.Y, P, ours)
        if not np.isnan(validation.Y).any():
            shares = normalize_rows(validation.Y.astype(float))
            return scores | score_all(shares, P, [name for name in metrics if name not in ours])
        # Further metrics that need every label are left out; the one that selects cannot be.
        if metrics[0] not in ours:
            raise ValidationRowsError(
                f'{metrics[0]} needs every label, but some are unknown; write prediction = "vote_likelihood".'
            )
        return scores

    def _recovered(self, model: Any) -> tuple[NDArray[Any], Any]:
        train, validation, basis = self.split.train, self.split.validation, self.basis(model)
        if basis == _TRAINING:
            return train.truth, model.label_distributions_
        if basis == _ENHANCED:
            return validation.truth, model.enhance(validation.X, validation.Y)
        return validation.truth, self._refit_on_validation_rows(model).label_distributions_

    def _refit_on_validation_rows(self, model: Any) -> Any:
        """The method with the same parameters, fitted to the 0/1 labels of the validation rows."""
        validation = self.split.validation
        try:
            # A clone, because the fitted model may still be selected.
            return clone(model).fit(validation.X, validation.Y)
        except Exception as error:
            raise ValidationRowsError(
                f"{len(validation.rows)} validation rows cannot score its recovery: {' '.join(str(error).split())}"
            ) from error


class _CellSearch:
    """Scores the fitted models for one cell and keeps the best for each task and metric."""

    def __init__(self, cell: Cell, scorer: ValidationScorer) -> None:
        self.cell, self.method, self.scorer, self.split = cell, cell.method, scorer, scorer.split
        self.warnings: list[str] = []
        self._learners: dict[int, list[int]] = {}  # by the index of the estimator, those that follow it
        for first, second in cell.grid_indices:
            self._learners.setdefault(first, []).append(second)
        self._has_choice = (
            len(cell.grid_indices) > 1
        )  # without it, validation scores are computed only where they are cheap
        self._points: list[tuple[GridIndex, GridPoint]] = []
        self._best: dict[Task, dict[str, tuple[float, Fit]]] = {}  # by task and metric
        self._basis: str | None = None
        self._seconds = 0.0

    def add(self, fit: Fit) -> None:
        """Score a model, or the learners trained on its output; after a failure the other points can still be used."""
        if fit.index[0] not in self._learners:  # drawn for another cell
            return
        started = time.perf_counter()
        with captured_warnings(self.warnings), self._recording_failures(fit):
            if fit.error is not None:
                raise fit.error  # here, so that errors of fits and of scores are recorded in the same way
            if self.method.stepwise:
                self._score(fit, ["recovery"])
            elif self.method.learner:
                self._fit_learners(fit)
            else:
                self._score(fit, self.method.tasks)
        self._seconds += fit.seconds + time.perf_counter() - started

    @contextmanager
    def _recording_failures(self, fit: Fit) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._points.append((fit.index, GridPoint(fit.params, error=error_message(error))))

    def _score(self, fit: Fit, tasks: Iterable[Task]) -> None:
        values: dict[str, Any] = {}
        for task in tasks:
            needed = self._has_choice or not self.scorer.needs_another_fit(task, fit.model)
            try:
                scores = self.scorer.scores(task, fit.model) if needed else {}
            except ValidationRowsError as error:  # for one task; the other may still be scored
                values["error"] = str(error)
                continue
            metrics = self.cell.selection.metrics_for(task)
            values[task] = scores.get(metrics[0], math.nan)
            best = self._best.setdefault(task, {})
            for metric in metrics:
                value, order = scores.get(metric, math.nan), get_metric(metric)
                previous = best.setdefault(metric, (value, fit))
                # Of equal points the first of the grid is selected.
                if (order.sort_key(value), fit.index) < (order.sort_key(previous[0]), previous[1].index):
                    best[metric] = (value, fit)
        if "recovery" in tasks and self._has_choice:
            self._basis = self.scorer.basis(fit.model)
        self._points.append((fit.index, GridPoint(fit.params, **values)))

    def _fit_learners(self, fit: Fit) -> None:
        """Train the learner of a pair, with every point of its grid, on the recovered degrees."""
        assert self.method.learner is not None
        D = np.asarray(fit.model.label_distributions_, dtype=np.float64)
        fixed = resolve(self.method.learner_params, self.split.sizes)
        grid = grid_points(self.method.learner_grid)
        for number in self._learners[fit.index[0]]:
            own = resolve(grid[number], self.split.sizes)
            started = time.perf_counter()
            learner = build(self.method.learner, fixed | own, self.cell.seed).fit(self.split.train.X, D)
            seconds = fit.seconds + time.perf_counter() - started
            params = {f"enhancer__{key}": value for key, value in fit.params.items()}
            params |= {f"learner__{key}": value for key, value in own.items()}
            self._score(Fit((fit.index[0], number), params, learner, seconds), ["prediction"])

    def record(self, **circumstances: Any) -> Record:
        """The record of the cell; only the selected models are scored by all metrics."""
        started = time.perf_counter()
        outcomes: dict[tuple[Task, GridIndex], dict[str, Any]] = {}  # several metrics may select the same model
        with captured_warnings(self.warnings):
            if self.method.stepwise:
                # Recovery is no task of a pair; from here on its predictions compete.
                best = self._best.pop("recovery", {}).get(self.cell.selection.recovery)
                if best is not None:
                    with self._recording_failures(best[1]):
                        self._fit_learners(best[1])
            for task, by_metric in self._best.items():
                describe = self._recovered if task == "recovery" else self._predicted
                for fit in {fit.index: fit for _, fit in by_metric.values()}.values():
                    outcomes[task, fit.index] = describe(fit.model)
        self._seconds += time.perf_counter() - started
        # A path takes its points from all over the grid.
        grid = [point for _, point in sorted(self._points, key=lambda entry: entry[0])]
        failed = [point.error for point in grid if point.error]
        found = circumstances | {
            "warnings": list(dict.fromkeys(self.warnings))[:5],  # the first different ones
            "grid": grid,
            "n_points": len(grid),
            "seconds": {"select": round(self._seconds, 4), "fit": 0.0, "predict": 0.0},
        }
        if not all(self._best.get(task) for task in self.method.tasks):
            return self.cell.record("failed", failed[0] if failed else "No grid point gave a result.", **found)
        for task in self.method.tasks:
            self._add_outcome(found, task, outcomes)
        message = f"{plural(len(failed), 'grid point')} failed, the first with {failed[0]}" if failed else ""
        return self.cell.record("ok", message, self._basis, **found)

    def _add_outcome(
        self, found: dict[str, Any], task: Task, outcomes: dict[tuple[Task, GridIndex], dict[str, Any]]
    ) -> None:
        """Add the fields of the models selected for a task; that of the first metric is shown."""
        by_metric = {metric: fit for metric, (_, fit) in self._best[task].items()}
        own = {metric: outcomes[task, fit.index] for metric, fit in by_metric.items()}
        first = next(iter(by_metric))
        shown, facts = by_metric[first], own[first]

        def scores(kind: str) -> dict[str, float]:
            """Scores of the model shown; metrics that selected for themselves have that of their own model."""
            return {name: own.get(name, facts)[kind].get(name) for name in facts[kind]}

        by_task = {
            "selected": shown.params,
            "paper_zeros": scores("paper_zeros"),
            "validation": self._best[task][first][0],
        }
        for key, value in by_task.items():
            found.setdefault(key, dict.fromkeys(TASKS))[task] = value
        found[task] = scores("scores")
        if len(by_metric) > 1:
            params = {metric: fit.params for metric, fit in by_metric.items()}
            found.setdefault("selected_by_metric", {})[task] = params
        if "degrees" in facts:
            found.setdefault("degrees", {})[task] = facts["degrees"]
        found |= {key: facts[key] for key in ("samples", "convergence") if key in facts}
        # Both tasks may show different models; the times are those of the one that predicts, which comes last.
        found["seconds"] |= {"fit": round(shown.seconds, 4), "predict": round(facts.get("predict_seconds", 0.0), 4)}

    def _recovered(self, model: Any) -> dict[str, Any]:
        train, shown = self.split.train, slice(None, N_SHOWN)
        D = np.asarray(model.label_distributions_, dtype=np.float64)
        truth = None if train.D is None else train.D[shown].round(4).tolist()
        # Pictures have no sign for labels that are not observed.
        labels = None if np.isnan(train.Y[shown]).any() else train.Y[shown].astype(int).tolist()
        samples = Samples(train.rows[shown].tolist(), truth, labels, D[shown].round(4).tolist(), list(self.split.texts))
        return describe_degrees(train, D, "recovery") | {"samples": samples, "convergence": _convergence(model)}

    def _predicted(self, model: Any) -> dict[str, Any]:
        test = self.split.test
        started = time.perf_counter()
        P = np.asarray(model.predict(test.X), dtype=np.float64)
        return {"predict_seconds": time.perf_counter() - started} | describe_degrees(test, P, "prediction")


def describe_degrees(part: Part, degrees: NDArray[np.float64], task: str) -> dict[str, Any]:
    """Scores against the true degrees; where these are unknown, degrees to compare with those of other methods."""
    if part.D is None:
        scores = score_all(part.Y, degrees, list(LABEL_METRICS)) if task == "prediction" else {}
        return {"scores": scores, "paper_zeros": {}, "degrees": degrees[:_DEGREES].round(4).tolist()}
    zeros: Convention = "dldl-recovery" if task == "recovery" else "dldl"
    paper = score_all(part.D, degrees, _ZEROS_MATTER, convention=zeros)
    return {"scores": score_all(part.D, degrees), "paper_zeros": paper}


def _convergence(model: Any) -> Convergence | None:
    path, gap = getattr(model, "objective_path_", None), getattr(model, "gap_", None)
    if path is None:
        return None
    return Convergence([float(value) for value in path], None if gap is None else float(np.sum(gap)))


@contextmanager
def captured_warnings(messages: list[str]) -> Iterator[None]:
    """Append warnings to a list instead of showing them; those about code, not results, are dropped."""
    # "always": a record must not depend on the filters of the user, or of the process it was made in.
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            yield
        finally:  # a fit that fails may have warned before
            messages += [_one_line(entry.message) for entry in caught if not issubclass(entry.category, _ABOUT_CODE)]


def error_message(error: Exception) -> str:
    """Class and message of an error in one line."""
    return f"{type(error).__name__}: {_one_line(error)}"


def _one_line(message: Exception | str) -> str:
    return " ".join(str(message).split())
