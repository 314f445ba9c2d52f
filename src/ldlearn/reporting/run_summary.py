"""How a run was done: evaluation, selection of hyperparameters, versions, seeds, warnings."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from types import SimpleNamespace

from ldlearn.evaluation import TASKS, Record, Results, Spread, Task
from ldlearn.evaluation.formatting import enumerate_names, format_value, plural
from ldlearn.evaluation.text_tables import describe_unreported
from ldlearn.metrics import METRICS


def describe_evaluation(results: Results) -> list[str]:
    """Sentences about constant labels, and about data sets and metrics without scores."""
    warnings = dict.fromkeys(record.label_warning for record in results.records)
    sentences = [*describe_unreported(results), *filter(None, warnings)]
    names = [dataset.name for dataset in results.present_datasets if not dataset.has_truth]
    if names:
        verb = "has" if len(names) == 1 else "have"
        sentences.append(
            f"No true degrees: {enumerate_names(names)} {verb} 0/1 labels only. "
            "Methods are compared by the likelihood of held-out 0/1 labels if a label with at "
            "least one vote is positive (vote log-likelihood), and by their agreement with each "
            "other, which does not imply that they are correct."
        )
    return sentences + list(_describe_votes(results))


def _describe_votes(results: Results) -> Iterator[str]:
    """What methods were fitted to, and scored by, where they saw counts of votes."""
    for dataset in results.present_datasets:
        if "seen" not in dataset.votes:
            continue
        seen = f"Methods saw {dataset.votes['seen']:.3g} votes per training row of {dataset.name}"
        scored = "drawn from its true degrees, and are scored by these degrees"
        if dataset.is_scored_by_votes:
            scored = (
                "on average; recovery is scored by the other votes of these rows, prediction by "
                "all votes of test rows, and rows without such votes are not scored"
            )
        yield f"{seen}, {scored}."
    limited = [method.name for method in results.methods.values() if method.is_limited]
    if limited:
        verb = "was" if len(limited) == 1 else "were"
        yield f"{enumerate_names(limited)} {verb} fitted to 0/1 labels: which labels have a vote."


def describe_selection(results: Results) -> list[str]:
    """Sentences about the selection of hyperparameters; empty if nothing was computed."""
    sizes = grid_sizes(results)
    if not sizes:
        return []
    if list(sizes) == [1]:
        defaults = "methods used their defaults unless the plan sets other values"
        return [f"No hyperparameter was tuned: {defaults}."]
    tuned = [record for record in results.finished_records() if record.n_points > 1]
    return [*_describe_validation(tuned), _describe_grids(sizes, tuned, results.subject)]


def grid_sizes(results: Results) -> dict[int, list[str]]:
    """Methods by the number of grid points that they tried, the largest first."""
    # Records without a grid may count no point, though the method was fitted once.
    points = {record.method: max(record.n_points, 1) for record in results.finished_records()}
    sizes: dict[int, list[str]] = {}
    for method, count in sorted(points.items(), key=lambda item: -item[1]):
        sizes.setdefault(count, []).append(method)
    return sizes


def _describe_validation(tuned: Sequence[Record]) -> Iterator[str]:
    recovery = _selection_metrics(tuned, "recovery")
    prediction = _selection_metrics(tuned, "prediction")
    selected = "Hyperparameters were selected by"
    if any(record.selection.get("mode") == "logical" for record in tuned):
        yield f"{selected} the 0/1 labels of validation rows only ({prediction})."
        return
    by = recovery
    if recovery != prediction:
        by = f"{recovery} for recovery, {prediction} for prediction"
    intro = f"{selected} true distributions, which are not available from 0/1 labels"
    if all(record.is_scored_by_votes for record in tuned):
        intro = f"{selected} votes that methods have not seen"
    if any(record.selection.get("recovery_basis") == "training rows" for record in tuned):
        rows = "those of the validation rows for prediction, of the training rows for recovery"
        yield f"{intro}: {rows} ({by})."
        optimistic = "scores are optimistic where they also selected hyperparameters"
        yield f"Recovery is scored on training rows; {optimistic}."
    else:
        yield f"{intro}: those of the validation rows ({by})."


def _describe_grids(
    sizes: dict[int, list[str]], tuned: Sequence[Record], subject: str | None
) -> str:
    if len(sizes) == 1:
        return f"Every method had {plural(min(sizes), 'grid point')}."
    budgets = {record.selection.get("budget") for record in tuned}
    if len(budgets) == 1 and None not in budgets:
        budget = f"a budget of {budgets.pop()} grid points"
        return f"Every method had {budget}; smaller grids were searched completely."
    shown = f"{min(sizes)} to {max(sizes)} for the methods"
    for count, names in sizes.items():
        if subject in names:
            shown = f"{count} for {subject}, {min(sizes)} to {max(sizes)} for the others"
    return f"Grid sizes differ, and larger grids are an advantage: {shown}."


def _selection_metrics(records: Sequence[Record], task: Task) -> str:
    if all(record.selection.get("per_metric") for record in records):
        return "each metric for itself"
    names = dict.fromkeys(record.selection_metric(task) for record in records)
    return enumerate_names([METRICS[name].title if name in METRICS else name for name in names])


def summarize_convergence(results: Results) -> Iterator[SimpleNamespace]:
    """Steps, last objective and gap of every method that recorded its objective, by data set."""
    for dataset in results.present_datasets:
        for method, runs in results.convergence(dataset.name).items():
            steps = Spread.from_values(len(run.objective) for run in runs)
            last = Spread.from_values(run.objective[-1] for run in runs)
            gap = Spread.from_values(run.gap for run in runs)
            if last:
                yield SimpleNamespace(
                    method=method, dataset=dataset.name, steps=steps, objective=last, gap=gap
                )


def summarize_run(results: Results) -> SimpleNamespace:
    """Counts, versions, threads, seeds, times and warnings over all records."""
    used = [record for record in results.records if record.status != "missing"]
    run = SimpleNamespace(
        n_ok=len(used) - len(results.failures),
        n_failed=len(results.failures),
        n_missing=len(results.records) - len(used),
        seconds=0.0,
        versions={},
        threads={},
        seeds=set(),
        repeats=len({record.repeat for record in used}),
    )
    started = []
    warnings: Counter[str] = Counter()
    for record in used:
        # Not the sum of the phases: the selection includes the others. A cell whose total is
        # unknown shared no fit.
        run.seconds += record.seconds.get("total") or record.seconds.get("select") or 0.0
        for name, version in record.versions.items():
            run.versions.setdefault(name, {})[version] = True
        if record.threads is not None:
            run.threads[record.threads] = True
        if record.seed is not None:
            run.seeds.add(record.seed)
        if record.started:
            started.append(record.started)
        for text in record.warnings:
            warnings[f"{record.method}: {text}"] += 1
    run.seeds = sorted(run.seeds)
    run.first = min(started, default="")
    run.last = max(started, default="")
    # With the number of cells, the most frequent first.
    run.warnings = warnings.most_common()
    return run


def selected_parameters(results: Results) -> dict[tuple[str, str, Task], dict[str, Counter[str]]]:
    """By method, data set and task: how many repeats selected each value of a parameter."""
    found: dict[tuple[str, str, Task], dict[str, Counter[str]]] = {}
    for (method, dataset), records in results.by_method_and_dataset.items():
        for task, record in product(TASKS, records):
            selected = record.selected.get(task)
            if selected and record.n_points > 1:
                counts = found.setdefault((method, dataset, task), {})
                for name, value in selected.items():
                    counts.setdefault(name, Counter())[format_value(value)] += 1
    return found
