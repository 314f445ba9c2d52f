"""How methods were judged and their parameters chosen, and with how many points: what a reader must know first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ldlearn.evaluation import TASKS, Record, Results, Task
from ldlearn.evaluation.formatting import enumerate_names, plural
from ldlearn.metrics import METRICS

_NAMED, _COUNTS = 6, 4  # methods, and numbers of points, that a sentence lists before it only counts


def how_methods_were_judged(results: Results) -> list[str]:
    """Sentences about data sets without a truth; empty if there are none."""
    names = [dataset.name for dataset in results.present if not dataset.has_truth]
    if not names:
        return []
    have = "has" if len(names) == 1 else "have"
    return [
        f"There was no truth: {enumerate_names(names)} {have} 0/1 labels only, so nothing here says how near degrees "
        "are to true ones. Methods were judged by how likely their predictions make the 0/1 labels of rows held out, "
        "if a label is ticked when it gets any vote (vote log-likelihood), and by how far they agree with each other, "
        "which does not make them right."
    ]


def how_parameters_were_chosen(results: Results) -> list[str]:
    """Sentences for the first screen; empty if nothing was computed."""
    done = results.finished()
    if not done:
        return []
    points = grid_points_of_methods(results)
    if list(points) == [1]:
        return ["Nothing was tuned: every method ran once a repeat, with its defaults unless the plan says otherwise."]
    tuned = [record for record in done if record.n_points > 1]
    budgets = {record.selection.get("budget") for record in tuned}
    stated = budgets.pop() if len(budgets) == 1 else None  # by the plan, and one for all
    return [*_by_what(tuned), _budgets(points, results.subject, stated)]


def grid_points_of_methods(results: Results) -> dict[int, list[str]]:
    """Methods by the number of grid points that they tried, the most first."""
    # Records that hold no grid may count no point, though the method ran once.
    points = {record.method: max(record.n_points, 1) for record in results.finished()}
    counts = sorted(set(points.values()), reverse=True)
    return {count: [method for method, n in points.items() if n == count] for count in counts}


def _by_what(tuned: Sequence[Record]) -> Iterable[str]:
    if any(record.selection.get("mode") == "logical" for record in tuned):
        yield f"Parameters were chosen by the 0/1 labels of validation rows alone ({_metrics(tuned, 'prediction')})."
        return
    rows = _rows_that_chose(tuned)
    if set(rows) <= {"validation rows"}:
        by = dict.fromkeys(_metrics(tuned, task) for task in TASKS)
        yield (
            "Parameters were chosen by the true distributions of the validation rows, which nobody has who has only "
            f"0/1 labels ({' for recovery, '.join(by)}{' for prediction' if len(by) > 1 else ''})."
        )
        return
    said = (
        "Parameters were chosen by true distributions, which nobody has who has only 0/1 labels: for prediction by "
        f"those of the validation rows ({_metrics(tuned, 'prediction')})"
    )
    parts = [f"{name} for {_some(methods)}" if len(rows) > 1 else name for name, methods in rows.items()]
    yield f"{said}, for recovery by those of the {', the '.join(parts)} ({_metrics(tuned, 'recovery')})."
    if "training rows" in rows:
        yield "Recovery is scored on training rows, so where they also chose it is the best that a grid can do."
    if len(rows) > 1:
        yield "So recovery was not chosen on the same rows for all methods."


def _rows_that_chose(tuned: Sequence[Record]) -> dict[str, list[str]]:
    """The rows that chose parameters for recovery, with the methods they did that for."""
    rows: dict[str, dict[str, None]] = {}
    for record in tuned:
        basis = record.selection.get("recovery_basis")
        # A pair whose first step is chosen alone has rows that chose, but no recovery of its own.
        if basis and record.scores("recovery"):
            # What follows the comma is how: "validation rows, enhanced", "validation rows, fitted again".
            rows.setdefault(str(basis).partition(",")[0], {})[record.method] = None
    return {name: list(methods) for name, methods in rows.items()}


def _budgets(points: dict[int, list[str]], subject: str | None, budget: int | None) -> str:
    if len(points) == 1:
        return f"Every method had {plural(next(iter(points)), 'grid point')}."
    said = "Grid points were not equal, and whoever has more of them has more chances: "
    if budget is not None:
        points = {count: names for count, names in points.items() if count < budget}
        subject = None  # has as many as anybody, or is among those who have fewer
        said = (
            f"Every method had the same budget, {budget} points drawn from its grid; grids with fewer were used whole: "
        )
    if len(points) <= _COUNTS:
        parts = [
            f"{count if count > 1 else '1 (nothing to choose)'} for {_some(names)}" for count, names in points.items()
        ]
        return f"{said}{'; '.join(parts)}."
    own = next((f"{count} for {subject}, " for count, names in points.items() if subject in names), "")
    others = "the others" if budget is None else plural(sum(map(len, points.values())), "method")
    return f"{said}{own}from {min(points)} to {max(points)} for {others}; the last section lists them."


def _metrics(records: Sequence[Record], task: Task) -> str:
    if all(record.selection.get("per_metric") for record in records):
        return "every metric chose for itself"
    names = dict.fromkeys(record.deciding_metric(task) for record in records)
    return enumerate_names([METRICS[name].title if name in METRICS else name for name in names])


def _some(names: Sequence[str]) -> str:
    if len(names) <= _NAMED:
        return enumerate_names(list(names))
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
