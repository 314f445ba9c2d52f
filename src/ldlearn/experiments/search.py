"""Grid search of a piece of work: fit every point, score it on the validation part, keep the best for the record."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.evaluation import Convergence, GridPoint, Samples, Task
from ldlearn.experiments.captured_warnings import captured_warnings, error_text
from ldlearn.experiments.cells import Cell, Place, Work
from ldlearn.experiments.methods import build, grid_points, resolve
from ldlearn.experiments.model_selection import NotJudgedError, ValidationScorer
from ldlearn.experiments.splits import Part, Split
from ldlearn.metrics import LABEL_METRICS, get_metric, score_all
from ldlearn.metrics.conventions import Convention

_SAMPLES = 12  # training rows whose degrees a record keeps, for pictures
_DEGREES = 100  # rows whose degrees are kept where there is no truth, to compare methods with each other
_ZEROS_MATTER = ("clark", "canberra", "kl_divergence")  # they divide by degrees


@dataclass
class Fit:
    """A grid point and the model fitted at it, or the error that was met."""

    place: Place
    params: dict[str, Any]
    model: Any = None
    seconds: float = 0.0
    error: Exception | None = None


@dataclass
class Candidate:
    """The best model of a piece of work for a task and a metric that chooses.

    Attributes
    ----------
    value : float
        Its validation score.
    rival : float
        By what the pieces of a grid compete: the same, but for a pair whose first step is chosen alone.
    found : dict
        What a record can tell of it: ``scores``, ``paper_zeros`` and perhaps ``degrees``, ``samples``, ``convergence``
        and ``predict_seconds``.
    """

    place: Place
    params: dict[str, Any]
    fit_seconds: float
    value: float
    rival: float
    found: dict[str, Any]


@dataclass
class Partial:
    """What a piece of work found for one cell: points with their places, and the best for each task and metric.

    Its circumstances are fields of the record: when, how large the split was, what memory it took, which versions.
    """

    points: list[tuple[Place, GridPoint]] = field(default_factory=list)
    best: dict[tuple[str, str], Candidate] = field(default_factory=dict)
    basis: str = ""
    warnings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    error: str = ""
    circumstances: dict[str, Any] = field(default_factory=dict)


class CellSearch:
    """Sees the fitted models of a piece of work for one cell and keeps the best.

    Parameters
    ----------
    cell : Cell
    scorer : ValidationScorer
    """

    def __init__(self, cell: Cell, scorer: ValidationScorer) -> None:
        self.method, self.selection, self.seed = cell.method, cell.selection, cell.seed
        self.scorer, self.split = scorer, scorer.split
        self.partial = Partial()
        self._learners: dict[int, list[int]] = {}  # by the place of the estimator, those that follow it
        for first, second in cell.places:
            self._learners.setdefault(first, []).append(second)
        self._choice = len(cell.places) > 1  # without one, validation scores are needed only where they are cheap
        self._best: dict[tuple[str, str], tuple[float, Fit]] = {}

    def see(self, fit: Fit) -> None:
        """Score a model, or the learners it teaches; a point that failed is noted, the others still can be used."""
        if fit.place[0] not in self._learners:  # drawn for another cell
            return
        started = time.perf_counter()
        with captured_warnings(self.partial.warnings), self._failures_noted(fit):
            if fit.error is not None:
                # Inside, so that an error of the fit and one of the scoring are noted in the same way.
                raise fit.error
            if self.method.stepwise:
                self._score(fit, ["recovery"])
            elif self.method.learner:
                self._teach(fit)
            else:
                self._score(fit, self.method.tasks)
        self.partial.seconds += fit.seconds + time.perf_counter() - started

    @contextmanager
    def _failures_noted(self, fit: Fit) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.partial.points.append((fit.place, GridPoint(fit.params, error=error_text(error))))

    def finish(self) -> Partial:
        """Score the best models in full."""
        started = time.perf_counter()
        with captured_warnings(self.partial.warnings):
            rival = self._teach_the_best() if self.method.stepwise else None
            told: dict[tuple[str, Place], dict[str, Any]] = {}  # several metrics may choose the same model
            for (task, metric), (value, fit) in self._best.items():
                # Full scores are computed for what was chosen only; the grid has those of the deciding metrics.
                if (task, fit.place) not in told:
                    tell = self._recovered if task == "recovery" else self._predicted
                    told[task, fit.place] = tell(fit.model)
                model = (fit.place, fit.params, fit.seconds)
                by = (value, value if rival is None else rival)
                self.partial.best[task, metric] = Candidate(*model, *by, told[task, fit.place])
        self.partial.seconds += time.perf_counter() - started
        return self.partial

    def _teach_the_best(self) -> float | None:
        """Only now train the learner; the pieces of a grid are rivals by what they recovered, by the first metric."""
        found = self._best.get(("recovery", self.selection.recovery))
        # What recovery chose is no outcome of a pair; from here on its predictions compete.
        self._best.clear()
        if found is None:
            return None
        value, best = found
        with self._failures_noted(best):
            self._teach(best)
        return value

    def _score(self, fit: Fit, tasks: Iterable[Task]) -> None:
        values: dict[str, Any] = {}
        for task in tasks:
            needed = self._choice or not self.scorer.needs_a_fit(task, fit.model)
            try:
                scores = self.scorer.scores(task, fit.model) if needed else {}
            except NotJudgedError as error:  # for one task; the other may still be
                values["error"] = str(error)
                continue
            deciding = self.selection.deciding(task)
            values[task] = scores.get(deciding[0], math.nan)
            for metric in deciding:
                value, best = scores.get(metric, math.nan), self._best.get((task, metric))
                order = get_metric(metric).sort_key
                # Strictly better: of equal points the first of the grid is kept.
                if best is None or order(value) < order(best[0]):
                    self._best[task, metric] = (value, fit)
        if "recovery" in tasks and self._choice:
            self.partial.basis = self.scorer.basis(fit.model)
        self.partial.points.append((fit.place, GridPoint(fit.params, **values)))

    def _teach(self, fit: Fit) -> None:
        """Train the learner of a pair, with every point of its grid, on what the model recovered."""
        assert self.method.learner is not None
        D = np.asarray(fit.model.label_distributions_, dtype=np.float64)
        fixed = {f"enhancer__{key}": value for key, value in fit.params.items()}
        grid = grid_points(self.method.learner_grid)
        for number in self._learners[fit.place[0]]:
            own = resolve(grid[number], self.split.sizes)
            started = time.perf_counter()
            learner = build(self.method.learner, resolve(self.method.learner_params, self.split.sizes) | own, self.seed)
            learner.fit(self.split.train.X, D)
            seconds = fit.seconds + time.perf_counter() - started
            params = fixed | {f"learner__{key}": value for key, value in own.items()}
            self._score(Fit((fit.place[0], number), params, learner, seconds), ["prediction"])

    def _recovered(self, model: Any) -> dict[str, Any]:
        train = self.split.train
        D = np.asarray(model.label_distributions_, dtype=np.float64)
        shown = slice(None, _SAMPLES)
        truth = None if train.D is None else train.D[shown].round(4).tolist()
        # Pictures show a label as there or not there, so that rows with unknown ones are shown without.
        labels = None if np.isnan(train.Y[shown]).any() else train.Y[shown].astype(int).tolist()
        samples = Samples(train.rows[shown].tolist(), truth, labels, D[shown].round(4).tolist())
        return _scored(train, D, "dldl-recovery") | {"samples": samples, "convergence": _convergence(model)}

    def _predicted(self, model: Any) -> dict[str, Any]:
        test = self.split.test
        started = time.perf_counter()
        P = np.asarray(model.predict(test.X), dtype=np.float64)
        found = {"predict_seconds": time.perf_counter() - started} | _scored(test, P, "dldl")
        if test.D is None:
            found["scores"] = score_all(test.Y, P, list(LABEL_METRICS))
        return found


def _scored(part: Part, degrees: NDArray[np.float64], zeros: Convention) -> dict[str, Any]:
    """Scores against the truth; where there is none, degrees to compare with those of other methods."""
    if part.D is None:
        return {"scores": {}, "paper_zeros": {}, "degrees": degrees[:_DEGREES].round(4).tolist()}
    paper = score_all(part.D, degrees, _ZEROS_MATTER, convention=zeros)
    return {"scores": score_all(part.D, degrees), "paper_zeros": paper}


def _convergence(model: Any) -> Convergence | None:
    path, gap = getattr(model, "objective_path_", None), getattr(model, "gap_", None)
    if path is None:
        return None
    return Convergence([float(value) for value in path], None if gap is None else float(np.sum(gap)))


def search(work: Work, split: Split) -> list[Partial]:
    """Fit and score every grid point of a piece of work.

    Parameters
    ----------
    work : Work
    split : Split
        Of the data set and repeat of its cells.

    Returns
    -------
    list of Partial
        One for each cell.
    """
    scorer = ValidationScorer(split, work.cells[0].selection)
    searches = [CellSearch(cell, scorer) for cell in work.cells]
    fits = _fits(work, split)
    while True:
        # Not a for loop: what a fit warns of goes to every cell that shares it, what its scoring warns of to one cell.
        texts: list[str] = []
        with captured_warnings(texts):
            fit = next(fits, None)
        if fit is None:
            return [each.finish() for each in searches]
        for each in searches:
            each.partial.warnings += texts
            each.see(fit)


def _fits(work: Work, split: Split) -> Iterator[Fit]:
    """Models of the grid points; those of a path are fitted together, others one by one, so that one may fail."""
    method = work.cells[0].method
    fixed = resolve(method.params, split.sizes)
    points = [(place, resolve(point, split.sizes)) for place, point in work.points]
    cheap = method.path_params
    T = split.train.Y if method.trained_on == "logical" else split.train.truth
    for path in [points] if cheap else [[point] for point in points]:
        waiting = [((place, 0), point) for place, point in path]
        started = time.perf_counter()
        try:
            # The first point in full; those that follow on a path differ in path parameters alone.
            first = build(method.estimator, fixed | path[0][1], work.cells[0].seed)
            settings = [{key: value for key, value in point.items() if key in cheap} for _, point in path]
            for model in first.fit_path(split.train.X, T, settings):
                yield Fit(*waiting.pop(0), model, time.perf_counter() - started)
                # Anew, since models are scored between two of them.
                started = time.perf_counter()
        except Exception as error:
            # Models that came before the error stay good; those still waiting have failed with it.
            yield from (Fit(*each, error=error) for each in waiting)
