"""Fitting and judging the grid points of a piece of work; the best of them become candidates for the record."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldlearn.experiments.cells import Work
from ldlearn.experiments.heard import captured
from ldlearn.experiments.judge import Judge
from ldlearn.experiments.methods import TWO_STEP, MethodSpec, build, grid_points, resolve
from ldlearn.experiments.splits import Split
from ldlearn.joint import dldl_path
from ldlearn.metrics import score_all

_PATH = ("alpha", "beta", "gamma")
_SAMPLES = 12
_ZEROS_MATTER = ("clark", "canberra", "kl_divergence")


@dataclass
class Fitted:
    """A model at a grid point."""

    place: tuple[int, int]
    params: dict[str, Any]
    model: Any
    seconds: float


@dataclass
class Partial:
    """What a piece of work found for one method: judged points, and the best of them with all scores."""

    points: list[dict[str, Any]] = field(default_factory=list)
    recovery: dict[str, Any] | None = None
    prediction: dict[str, Any] | None = None
    basis: str = ""
    warnings: list[str] = field(default_factory=list)
    seconds: float = 0.0


class MethodSearch:
    """Sees the fitted models of a piece of work for one method and keeps the best.

    Parameters
    ----------
    method : MethodSpec
    judge : Judge
    seed : int
        Of learners that use one.
    """

    def __init__(self, method: MethodSpec, judge: Judge, seed: int) -> None:
        self.method, self.judge, self.seed = method, judge, seed
        self.split = judge.split
        self.partial = Partial()
        self._best: dict[str, tuple[float, Fitted]] = {}
        size = len(grid_points(method.grid)) * len(grid_points(method.learner_grid))
        self._choice = size > 1  # without one, judging is needed only where it is cheap

    def see(self, fitted: Fitted) -> None:
        """Judge a model, or the learners it teaches."""
        started = time.perf_counter()
        with captured(self.partial.warnings):
            try:
                self._see(fitted)
            except Exception as error:
                self.fail(fitted.place, fitted.params, error)
        self.partial.seconds += fitted.seconds + time.perf_counter() - started

    def _see(self, fitted: Fitted) -> None:
        if self.method.kind != TWO_STEP:
            tasks = {"recovery": self.method.recovers, "prediction": self.method.predicts}
            self._judge(fitted, [task for task, wanted in tasks.items() if wanted])
        elif self.method.search == "joint":
            self._teach(fitted)
        else:
            self._judge(fitted, ["recovery"])

    def fail(self, place: tuple[int, int], params: dict[str, Any], error: Exception) -> None:
        """Note a point that cannot be used; the others still can."""
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        self.partial.points.append({"place": place, "params": params, "error": message})

    def finish(self) -> Partial:
        """Score the best models in full."""
        started = time.perf_counter()
        with captured(self.partial.warnings):
            rival = self._teach_the_best() if self.method.stepwise else None
            for task, (value, fitted) in self._best.items():
                candidate = self._candidate(task, value, fitted)
                setattr(self.partial, task, candidate | ({} if rival is None else {"rival": rival}))
        self.partial.seconds += time.perf_counter() - started
        return self.partial

    def _teach_the_best(self) -> float | None:
        """Only now train the learner; the pieces of a grid are rivals by what they recovered."""
        if "recovery" not in self._best:
            return None
        value, best = self._best.pop("recovery")
        try:
            self._teach(best)
        except Exception as error:
            self.fail(best.place, best.params, error)
        return value

    def _judge(self, fitted: Fitted, tasks: list[str]) -> None:
        point: dict[str, Any] = {"place": fitted.place, "params": fitted.params}
        for task in tasks:
            needed = self._choice or self.judge.oracle
            value = getattr(self.judge, task)(fitted.model) if needed else float("nan")
            point[task] = value
            if task not in self._best or self.judge.better(task, value, self._best[task][0]):
                self._best[task] = (value, fitted)
        if "recovery" in tasks:
            self.partial.basis = self.judge.basis(fitted.model)
        self.partial.points.append(point)

    def _teach(self, fitted: Fitted) -> None:
        """Train the learner of a pair, with every point of its grid, on what the model recovered."""
        assert self.method.learner is not None
        D = np.asarray(fitted.model.label_distributions_, dtype=np.float64)
        fixed = {f"enhancer__{key}": value for key, value in fitted.params.items()}
        for number, chosen in enumerate(grid_points(self.method.learner_grid)):
            own = resolve(chosen, self.split.sizes)
            started = time.perf_counter()
            learner = build(self.method.learner, resolve(self.method.learner_params, self.split.sizes) | own, self.seed)
            learner.fit(self.split.train.X, D)
            seconds = fitted.seconds + time.perf_counter() - started
            params = fixed | {f"learner__{key}": value for key, value in own.items()}
            self._judge(Fitted((fitted.place[0], number), params, learner, seconds), ["prediction"])

    def _candidate(self, task: str, value: float, fitted: Fitted) -> dict[str, Any]:
        content = {"place": fitted.place, "value": value, "params": fitted.params, "fit_seconds": fitted.seconds}
        return content | (self._recovered(fitted.model) if task == "recovery" else self._predicted(fitted.model))

    def _recovered(self, model: Any) -> dict[str, Any]:
        train = self.split.train
        D = np.asarray(model.label_distributions_, dtype=np.float64)
        shown = slice(None, _SAMPLES)
        return {
            "scores": score_all(train.D, D),
            "paper_zeros": score_all(train.D, D, _ZEROS_MATTER, convention="dldl-recovery"),
            "samples": {
                "rows": train.rows[shown].tolist(),
                "truth": train.D[shown].round(4).tolist(),
                "logical": train.Y[shown].tolist(),
                "recovered": D[shown].round(4).tolist(),
            },
            "convergence": _convergence(model),
        }

    def _predicted(self, model: Any) -> dict[str, Any]:
        test = self.split.test
        started = time.perf_counter()
        P = np.asarray(model.predict(test.X), dtype=np.float64)
        seconds = time.perf_counter() - started
        return {
            "scores": score_all(test.D, P),
            "paper_zeros": score_all(test.D, P, _ZEROS_MATTER, convention="dldl"),
            "predict_seconds": seconds,
        }


def _convergence(model: Any) -> dict[str, Any] | None:
    path, gap = getattr(model, "objective_path_", None), getattr(model, "gap_", None)
    if path is None:
        return None
    values = [float(value) for value in path]
    return {"objective": values, "gap": None if gap is None else float(np.sum(gap))}


def search(work: Work, split: Split, seed: int) -> list[Partial]:
    """Fit and judge every grid point of a piece of work.

    Parameters
    ----------
    work : Work
    split : Split
        Of the data set and repeat of its cells.
    seed : int
        For estimators that use one.

    Returns
    -------
    list of Partial
        One for each cell.
    """
    judge = Judge(split, work.cells[0].selection)
    searches = [MethodSearch(cell.method, judge, seed) for cell in work.cells]
    fits = _fits(work, split, seed)
    while True:
        heard: list[str] = []
        with captured(heard):
            result = next(fits, None)
        if result is None:
            return [each.finish() for each in searches]
        for each in searches:
            each.partial.warnings += heard
            if isinstance(result, Fitted):
                each.see(result)
            else:
                each.fail(*result)


Failed = tuple[tuple[int, int], dict[str, Any], Exception]


def _fits(work: Work, split: Split, seed: int) -> Iterator[Fitted | Failed]:
    method = work.cells[0].method
    fixed = resolve(method.params, split.sizes)
    points = [(place, resolve(point, split.sizes)) for place, point in work.points]
    if method.estimator == "DLDL" and len(points) > 1:
        yield from _path_fits(points, fixed, split, seed)
        return
    T = split.train.D if method.trained_on == "truth" else split.train.Y
    for place, point in points:
        started = time.perf_counter()
        try:
            model = build(method.estimator, fixed | point, seed).fit(split.train.X, T)
        except Exception as error:
            yield (place, 0), point, error
        else:
            yield Fitted((place, 0), point, model, time.perf_counter() - started)


def _path_fits(
    points: list[tuple[int, dict[str, Any]]], fixed: dict[str, Any], split: Split, seed: int
) -> Iterator[Fitted | Failed]:
    """DLDL over a product of weights; graph, factorisation and first step are shared."""
    everything = build("DLDL", fixed | points[0][1], seed).get_params(deep=False)
    lists = {key: list(dict.fromkeys(point.get(key, everything[key]) for _, point in points)) for key in _PATH}
    others = {key: value for key, value in everything.items() if key not in _PATH}
    waiting = {tuple(point.get(key, everything[key]) for key in _PATH): (place, point) for place, point in points}
    started = time.perf_counter()
    try:
        for model in dldl_path(split.train.X, split.train.Y, **lists, **others):
            place, point = waiting.pop(tuple(getattr(model, key) for key in _PATH))
            yield Fitted((place, 0), point, model, time.perf_counter() - started)
            started = time.perf_counter()
    except Exception as error:
        for place, point in waiting.values():
            yield (place, 0), point, error
