"""Measure every method for the page "Which method should I use?".

``python docs/measurements/measure.py RUN_FOLDER`` runs every estimator of the library with its defaults, on data whose
true distributions are known, and writes ``which_method.json`` beside this file. A run that was interrupted continues.
With 0/1 labels alone the truth cannot be used for tuning, so nothing is tuned.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ldlearn import __version__
from ldlearn.datasets import fetch_dataset, write_dataset
from ldlearn.evaluation import TASKS, Record, Results
from ldlearn.experiments import LogProgress, Plan, run_plan

RESULT = Path(__file__).with_name("which_method.json")
METRICS = ("intersection", "chebyshev", "kl_divergence")
# Name in the table, source, rule that makes the 0/1 labels.
CASES = {
    "tweets, every vote": ("vader_tweets", {"rule": "threshold", "threshold": 0.01}),
    "budgets, every share": ("uk_budget_shares", {"rule": "threshold", "threshold": 0.01}),
    "tweets, main labels": ("vader_tweets", {"rule": "cumulative", "total": 0.5}),
    "budgets, main labels": ("uk_budget_shares", {"rule": "cumulative", "total": 0.5}),
    "artificial, main labels": (None, {"rule": "cumulative", "total": 0.5}),
}
ROWS, REPEATS = 1000, 5


def make_plan(folder: Path) -> Plan:
    """The plan, with the data sets that need two rules written to files."""
    datasets: dict[str, Any] = {}
    for case, (source, rule) in CASES.items():
        if source is None:
            datasets[case] = {"generator": "artificial", "params": {"version": "manifold"}, "rows": ROWS} | rule
        else:
            path = folder / f"{source}.npz"
            if not path.is_file():
                write_dataset(fetch_dataset(source), path)
            datasets[case] = {"path": str(path), "rows": ROWS} | rule
    return Plan.from_dict(
        {
            "name": "which method",
            "description": "Every method with its defaults.",
            "metrics": list(METRICS),
            "protocol": {"repeats": REPEATS, "scaling": "standard"},
            "datasets": datasets,
            "discover": {"kinds": ["joint", "enhancer", "learner"], "then": ["SABFGS"]},
            "methods": {"FromClassifier (votes)": {"estimator": "FromClassifier", "params": {"link": "votes"}}},
        },
        folder,
    )


def compress(records: list[Record]) -> dict[str, Any]:
    """Means over the repeats, and what was done."""
    scores = [
        {
            "dataset": row.dataset,
            "task": task,
            "method": row.method.name,
            "is_baseline": row.method.is_baseline,
            "on_truth": row.method.is_reference,
            "mean": {name: round(spread.mean, 5) for name, spread in row.spreads.items()},
            "std": {name: round(spread.std, 5) for name, spread in row.spreads.items()},
        }
        for task in TASKS
        for row in Results(records).summary(task, METRICS)
    ]
    return {
        "version": __version__,
        "rows": ROWS,
        "repeats": REPEATS,
        "positives": _share_of_positives(records),
        "scores": scores,
        "seconds": _seconds(records),
        "failed": sorted({f"{record.method} on {record.dataset}" for record in records if not record.is_ok}),
    }


def _share_of_positives(records: list[Record]) -> dict[str, float]:
    """Share of 0/1 labels that are 1, among the rows that records keep."""
    kept: dict[str, list[int]] = {}
    for record in records:
        for row in (record.samples and record.samples.logical) or []:
            kept.setdefault(record.dataset, []).extend(row)
    return {dataset: round(sum(values) / len(values), 2) for dataset, values in kept.items()}


def _seconds(records: list[Record]) -> dict[str, float]:
    """Median time of one fit, over data sets and repeats."""
    found: dict[str, list[float]] = {}
    for record in records:
        if record.is_ok:
            found.setdefault(record.method, []).append(record.seconds["fit"])
    return {method: round(sorted(times)[len(times) // 2], 3) for method, times in found.items()}


def main() -> None:
    """Run the plan and write the result."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results/which_method").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    done = run_plan(make_plan(folder), folder, jobs=1, progress=LogProgress())
    RESULT.write_text(json.dumps(compress(done.records), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(RESULT)


if __name__ == "__main__":
    main()
