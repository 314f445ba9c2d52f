"""Equal budgets: which points of its grid a method tries where a plan says how many."""

from __future__ import annotations

import hashlib
import itertools
import json

from ldlearn.experiments.methods import MethodSpec, grid_points

Place = tuple[int, int]  # of a point in the grid of a method, and in that of its learner


def drawn_places(method: MethodSpec, budget: int | None, seed: int) -> list[Place]:
    """The points that a method tries, in the order of its grid.

    Where the grid has more points than the budget, that many are drawn without replacement. They depend on the method
    and the seed alone, so all data sets and repeats try the same ones; and a larger budget only adds to them.

    Parameters
    ----------
    method : MethodSpec
    budget : int or None
        Points at most; None for the whole grid. A pair of two steps has one budget for both: for the product of its
        grids, or, if the first step is chosen alone, with at most half of it for the learner.
    seed : int

    Examples
    --------
    >>> method = MethodSpec("GLLE", "GLLE", grid={"lam": [0.01, 0.1, 1.0], "n_neighbors": [5, 10]})
    >>> len(drawn_places(method, None, 0)), len(drawn_places(method, 4, 0)), len(drawn_places(method, 9, 0))
    (6, 4, 6)
    """
    n, n_learner = (len(grid_points(grid)) for grid in (method.grid, method.learner_grid))
    name = json.dumps([seed, method.to_dict()], sort_keys=True)
    if not method.stepwise:
        return [divmod(number, n_learner) for number in _drawn(n * n_learner, budget, name)]
    learners = _drawn(n_learner, budget and budget // 2, f"{name} learner")
    return list(itertools.product(_drawn(n, budget and budget - len(learners), name), learners))


def _drawn(n: int, budget: int | None, name: str) -> list[int]:
    """Numbers below n: those with the smallest sums, which no version of a random generator can change."""
    if budget is None or n <= budget:
        return list(range(n))
    return sorted(sorted(range(n), key=lambda number: hashlib.sha256(f"{name} {number}".encode()).digest())[:budget])
