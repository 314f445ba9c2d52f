"""How the parameters of a run were chosen, by what, and with how many points: what a reader must know first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ldlearn.metrics import METRICS
from ldlearn.results import Record, Results, Task
from ldlearn.results.wording import enumerate_names, plural

_NAMED, _COUNTS = 6, 4  # methods, and numbers of points, that a sentence lists before it only counts


def how_parameters_were_chosen(results: Results) -> list[str]:
    """Sentences for the first screen; empty if nothing was computed."""
    done = results.finished()
    if not done:
        return []
    points = grid_points_of_methods(results)
    if list(points) == [1]:
        return ["Nothing was tuned: every method ran once a repeat, with its defaults unless the plan says otherwise."]
    tuned = [record for record in done if record.n_points > 1]
    return [*_by_what(tuned), _budgets(points, results.subject)]


def grid_points_of_methods(results: Results) -> dict[int, list[str]]:
    """Methods by the number of grid points that they tried, the most first."""
    points = {record.method: max(record.n_points, 1) for record in results.finished()}
    counts = sorted(set(points.values()), reverse=True)
    return {count: [method for method, n in points.items() if n == count] for count in counts}


def _by_what(tuned: Sequence[Record]) -> Iterable[str]:
    if any(record.selection.get("mode") == "logical" for record in tuned):
        yield f"Parameters were chosen by the 0/1 labels of validation rows alone ({_metrics(tuned, 'prediction')})."
        return
    said = (
        "Parameters were chosen by true distributions, which nobody has who has only 0/1 labels: for prediction by "
        f"those of the validation rows ({_metrics(tuned, 'prediction')})"
    )
    bases: dict[str, list[str]] = {}
    for record in tuned:
        basis = record.selection.get("recovery_basis")
        if basis and record.scores("recovery") and record.method not in bases.setdefault(str(basis), []):
            bases[str(basis)].append(record.method)
    if bases:
        parts = [f"{basis} for {_some(names)}" if len(bases) > 1 else basis for basis, names in bases.items()]
        said += f", for recovery by those of {', '.join(parts)} ({_metrics(tuned, 'recovery')})"
    yield f"{said}."
    if len(bases) > 1:
        yield "So recovery was not chosen on the same rows for all methods."


def _budgets(points: dict[int, list[str]], subject: str | None) -> str:
    if len(points) == 1:
        return f"Every method had {plural(next(iter(points)), 'grid point')}."
    said = "Grid points were not equal, and whoever has more of them has more chances: "
    if len(points) <= _COUNTS:
        parts = [
            f"{count if count > 1 else '1 (nothing to choose)'} for {_some(names)}" for count, names in points.items()
        ]
        return f"{said}{'; '.join(parts)}."
    own = next((f"{count} for {subject}, " for count, names in points.items() if subject in names), "")
    return f"{said}{own}from {min(points)} to {max(points)} for the others; the last section lists them."


def _metrics(records: Iterable[Record], task: Task) -> str:
    names = dict.fromkeys(record.deciding_metric(task) for record in records)
    return enumerate_names([METRICS[name].title if name in METRICS else name for name in names])


def _some(names: Sequence[str]) -> str:
    if len(names) <= _NAMED:
        return enumerate_names(list(names))
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
