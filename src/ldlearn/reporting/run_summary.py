"""How a run was done: evaluation, selection of hyperparameters, convergence, versions, seeds and warnings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from types import SimpleNamespace

from ldlearn.evaluation import TASKS, Record, Results, Spread, Task
from ldlearn.evaluation.formatting import enumerate_names, format_value, plural
from ldlearn.metrics import METRICS


def describe_evaluation(results: Results) -> list[str]:
    """Sentences about constant labels and data sets without true degrees; empty if there are none."""
    sentences = list(dict.fromkeys(record.label_warning for record in results.records if record.constant_labels))
    names = [dataset.name for dataset in results.present if not dataset.has_truth]
    if not names:
        return sentences
    return [
        *sentences,
        f"No true degrees: {enumerate_names(names)} {'has' if len(names) == 1 else 'have'} 0/1 labels only. Methods "
        "are compared by the likelihood of held-out 0/1 labels if a label with at least one vote is positive (vote "
        "log-likelihood), and by their agreement with each other, which does not imply that they are correct.",
    ]


def describe_selection(results: Results) -> list[str]:
    """Sentences about the selection of hyperparameters and the grid sizes; empty if nothing was computed."""
    finished, sizes = results.finished(), grid_sizes(results)
    if not finished:
        return []
    if list(sizes) == [1]:
        return ["No hyperparameter was tuned: methods used their defaults unless the plan sets other values."]
    tuned = [record for record in finished if record.n_points > 1]
    return [*_describe_validation(tuned), _describe_grids(sizes, tuned, results.subject)]


def grid_sizes(results: Results) -> dict[int, list[str]]:
    """Methods by the number of grid points that they tried, the largest first."""
    # Records without a grid may count no point, though the method was fitted once.
    points = {record.method: max(record.n_points, 1) for record in results.finished()}
    counts = sorted(set(points.values()), reverse=True)
    return {count: [method for method, n in points.items() if n == count] for count in counts}


def _describe_validation(tuned: Sequence[Record]) -> Iterable[str]:
    metrics = {task: _selection_metrics(tuned, task) for task in TASKS}
    if any(record.selection.get("mode") == "logical" for record in tuned):
        yield f"Hyperparameters were selected by the 0/1 labels of validation rows only ({metrics['prediction']})."
        return
    rows = _recovery_rows(tuned)
    intro = "Hyperparameters were selected by true distributions, which are not available from 0/1 labels"
    if set(rows) <= {"validation rows"}:
        recovery, prediction = metrics.values()
        by = recovery if recovery == prediction else f"{recovery} for recovery, {prediction} for prediction"
        yield f"{intro}: those of the validation rows ({by})."
        return
    parts = [f"{name} for {enumerate_names(m)}" if len(rows) > 1 else name for name, m in rows.items()]
    yield (
        f"{intro}: for prediction those of the validation rows ({metrics['prediction']}), for recovery those of the "
        f"{', the '.join(parts)} ({metrics['recovery']})."
    )
    if "training rows" in rows:
        yield "Recovery is scored on training rows; scores are optimistic where they also selected hyperparameters."


def _recovery_rows(tuned: Sequence[Record]) -> dict[str, list[str]]:
    """Rows that selected hyperparameters for recovery, with the methods that used them."""
    rows: dict[str, list[str]] = {}
    for record in tuned:
        # "validation rows, enhanced" and "validation rows, fitted again" are the same rows.
        basis = str(record.selection.get("recovery_basis") or "").partition(",")[0]
        # The first step of a pair may be selected alone; the pair itself has no recovery.
        if basis and record.scores("recovery") and record.method not in rows.setdefault(basis, []):
            rows[basis].append(record.method)
    return rows


def _describe_grids(sizes: dict[int, list[str]], tuned: Sequence[Record], subject: str | None) -> str:
    if len(sizes) == 1:
        return f"Every method had {plural(next(iter(sizes)), 'grid point')}."
    budgets = {record.selection.get("budget") for record in tuned}
    if len(budgets) == 1 and (budget := budgets.pop()) is not None:
        return f"Every method had a budget of {budget} grid points; smaller grids were searched completely."
    own = next((f"{count} for {subject}, " for count, names in sizes.items() if subject in names), "")
    others = "the others" if own else "the methods"
    return f"Grid sizes differ, and larger grids are an advantage: {own}{min(sizes)} to {max(sizes)} for {others}."


def _selection_metrics(records: Sequence[Record], task: Task) -> str:
    if all(record.selection.get("per_metric") for record in records):
        return "each metric for itself"
    names = dict.fromkeys(record.selection_metric(task) for record in records)
    return enumerate_names([METRICS[name].title if name in METRICS else name for name in names])


def summarize_convergence(results: Results) -> Iterator[SimpleNamespace]:
    """Steps, last objective and gap over repeats of every method that recorded its objective, by data set."""
    for dataset in results.present:
        for method, runs in results.convergence(dataset.name).items():
            steps, last = Spread.of(len(run.objective) for run in runs), Spread.of(run.objective[-1] for run in runs)
            gap = Spread.of(run.gap for run in runs)
            if steps and last:
                yield SimpleNamespace(method=method, dataset=dataset.name, steps=steps, objective=last, gap=gap)


def summarize_run(results: Results) -> SimpleNamespace:
    """Counts, versions, threads, seeds, times and warnings over all records."""
    used = [record for record in results.records if record.status != "missing"]
    started = sorted(record.started for record in used if record.started)
    versions: dict[str, dict[str, None]] = {}  # by name, in the order of the records
    for record in used:
        for name, version in record.versions.items():
            versions.setdefault(name, {})[version] = None
    return SimpleNamespace(
        n_ok=sum(record.is_ok for record in used),
        n_failed=len(results.failures),
        n_missing=len(results.records) - len(used),
        # Not the sum of the phases: the selection includes the others. A cell whose total is unknown shared no fit.
        seconds=sum(record.seconds.get("total") or record.seconds.get("select") or 0.0 for record in used),
        versions={name: list(found) for name, found in versions.items()},
        threads=list(dict.fromkeys(str(record.threads) for record in used if record.threads is not None)),
        seeds=sorted({record.seed for record in used if record.seed is not None}),
        repeats=len({record.repeat for record in used}),
        first=started[0] if started else "",
        last=started[-1] if started else "",
        # With the number of cells, the most frequent first.
        warnings=Counter(f"{record.method}: {text}" for record in used for text in record.warnings).most_common(),
    )


def selected_parameters(results: Results) -> dict[tuple[str, str, Task], dict[str, Counter[str]]]:
    """By method, data set and task of tuned methods: how many repeats selected each value of a parameter."""
    found: dict[tuple[str, str, Task], dict[str, Counter[str]]] = {}
    for (method, dataset), records in results.by_method.items():
        for task, record in product(TASKS, records):
            for name, value in (record.selected.get(task) or {}).items() if record.n_points > 1 else ():
                counts = found.setdefault((method, dataset, task), {})
                counts.setdefault(name, Counter())[format_value(value)] += 1
    return found
