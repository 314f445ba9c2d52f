"""How a run was done: evaluation, selection of hyperparameters, convergence, versions, seeds and
warnings."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from types import SimpleNamespace

from ldlearn.evaluation import TASKS, Record, Results, Spread, Task
from ldlearn.evaluation.formatting import enumerate_names, format_value, plural
from ldlearn.evaluation.text_tables import describe_unreported
from ldlearn.metrics import METRICS


def describe_evaluation(results: Results) -> list[str]:
    """Sentences about constant labels, and about data sets and metrics without scores; empty if
    there are none."""
    sentences = describe_unreported(results)
    sentences += list(
        dict.fromkeys(record.label_warning for record in results.records if record.constant_labels)
    )
    if names := [dataset.name for dataset in results.present_datasets if not dataset.has_truth]:
        sentences.append(
            f"No true degrees: {enumerate_names(names)} {'has' if len(names) == 1 else 'have'} 0/1 labels only. "
            "Methods are compared by the likelihood of held-out 0/1 labels if a label with at least one vote is "
            "positive (vote log-likelihood), and by their agreement with each other, which does not imply that they "
            "are correct."
        )
    return sentences


def describe_selection(results: Results) -> list[str]:
    """Sentences about the selection of hyperparameters and the grid sizes; empty if nothing was
    computed."""
    finished = results.finished_records()
    sizes = grid_sizes(results)
    if not finished:
        return []
    if list(sizes) == [1]:
        return [
            "No hyperparameter was tuned: methods used their defaults unless the plan sets other values."
        ]
    tuned = [record for record in finished if record.n_points > 1]
    return [*_describe_validation(tuned), _describe_grids(sizes, tuned, results.subject)]


def grid_sizes(results: Results) -> dict[int, list[str]]:
    """Methods by the number of grid points that they tried, the largest first."""
    # Records without a grid may count no point, though the method was fitted once.
    points = {record.method: max(record.n_points, 1) for record in results.finished_records()}
    counts = sorted(set(points.values()), reverse=True)
    return {count: [method for method, n in points.items() if n == count] for count in counts}


def _describe_validation(tuned: Sequence[Record]) -> Iterator[str]:
    recovery, prediction = (_selection_metrics(tuned, task) for task in TASKS)
    if any(record.selection.get("mode") == "logical" for record in tuned):
        yield f"Hyperparameters were selected by the 0/1 labels of validation rows only ({prediction})."
        return
    by = (
        recovery
        if recovery == prediction
        else f"{recovery} for recovery, {prediction} for prediction"
    )
    intro = "Hyperparameters were selected by true distributions, which are not available from 0/1 labels"
    if any(record.selection.get("recovery_basis") == "training rows" for record in tuned):
        yield f"{intro}: those of the validation rows for prediction, of the training rows for recovery ({by})."
        yield "Recovery is scored on training rows; scores are optimistic where they also selected hyperparameters."
    else:
        yield f"{intro}: those of the validation rows ({by})."


def _describe_grids(
    sizes: dict[int, list[str]], tuned: Sequence[Record], subject: str | None
) -> str:
    if len(sizes) == 1:
        return f"Every method had {plural(next(iter(sizes)), 'grid point')}."
    if len(budgets := {record.selection.get("budget") for record in tuned}) == 1 and budgets != {
        None
    }:
        return f"Every method had a budget of {budgets.pop()} grid points; smaller grids were searched completely."
    own = [f"{count} for {subject}, " for count, names in sizes.items() if subject in names]
    sizes_of_others = f"{min(sizes)} to {max(sizes)} for {'the others' if own else 'the methods'}"
    return f"Grid sizes differ, and larger grids are an advantage: {''.join(own)}{sizes_of_others}."


def _selection_metrics(records: Sequence[Record], task: Task) -> str:
    if all(record.selection.get("per_metric") for record in records):
        return "each metric for itself"
    names = dict.fromkeys(record.selection_metric(task) for record in records)
    return enumerate_names([METRICS[name].title if name in METRICS else name for name in names])


def summarize_convergence(results: Results) -> Iterator[SimpleNamespace]:
    """Steps, last objective and gap over repeats of every method that recorded its objective, by
    data set."""
    for dataset in results.present_datasets:
        for method, runs in results.convergence(dataset.name).items():
            steps = Spread.from_values(len(run.objective) for run in runs)
            last = Spread.from_values(run.objective[-1] for run in runs)
            gap = Spread.from_values(run.gap for run in runs)
            if steps and last:
                yield SimpleNamespace(
                    method=method, dataset=dataset.name, steps=steps, objective=last, gap=gap
                )


def summarize_run(results: Results) -> SimpleNamespace:
    """Counts, versions, threads, seeds, times and warnings over all records."""
    used = [record for record in results.records if record.status != "missing"]
    started = [record.started for record in used if record.started]
    names = dict.fromkeys(name for record in used for name in record.versions)
    versions = {
        name: list(dict.fromkeys(r.versions[name] for r in used if name in r.versions))
        for name in names
    }
    return SimpleNamespace(
        n_ok=sum(record.is_ok for record in used),
        n_failed=len(results.failures),
        n_missing=len(results.records) - len(used),
        # Not the sum of the phases: the selection includes the others. A cell whose total is
        # unknown shared no fit.
        seconds=sum(
            record.seconds.get("total") or record.seconds.get("select") or 0.0 for record in used
        ),
        versions=versions,
        threads=list(
            dict.fromkeys(str(record.threads) for record in used if record.threads is not None)
        ),
        seeds=sorted({record.seed for record in used if record.seed is not None}),
        repeats=len({record.repeat for record in used}),
        first=min(started, default=""),
        last=max(started, default=""),
        # With the number of cells, the most frequent first.
        warnings=Counter(
            f"{record.method}: {text}" for record in used for text in record.warnings
        ).most_common(),
    )


def selected_parameters(results: Results) -> dict[tuple[str, str, Task], dict[str, Counter[str]]]:
    """By method, data set and task of tuned methods: how many repeats selected each value of a
    parameter."""
    found: dict[tuple[str, str, Task], dict[str, Counter[str]]] = {}
    for (method, dataset), records in results.by_method_and_dataset.items():
        for task, record in product(TASKS, records):
            for name, value in (
                (record.selected.get(task) or {}).items() if record.n_points > 1 else ()
            ):
                counts = found.setdefault((method, dataset, task), {})
                counts.setdefault(name, Counter())[format_value(value)] += 1
    return found
