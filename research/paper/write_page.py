"""Write research/paper/run/README.md from the records of the plan `paper`: what was printed, and
what comes out here.

    LDLEARN_DATA=... make paper

Every number is computed from the records or read from the paper's tables; none is typed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ldlearn.evaluation import (
    TASKS,
    Method,
    Record,
    Results,
    Spread,
    Task,
    difference,
    read_records,
)
from ldlearn.metrics import METRICS, Metric
from ldlearn.reporting.report import Report
from ldlearn.reporting.run_summary import describe_selection, summarize_run
from research.paper.comparison import PairedScore, PairedTable, paired_tables
from research.paper.printed_tables import BLOCKS, PAPER_METRICS
from research.paper.remarks import printed_scores

RUN = Path(__file__).parent / "run"  # the committed run; the pages are written there
OURS, BLIND, CEILING = "DLDL", "DLDL (labels alone)", "SABFGS on truth"
DATASETS = {"natural_scene": "Natural Scene", "scut_fbp": "SCUT-FBP"}
ABBREVIATIONS = {"NS": "natural_scene", "SCUT": "scut_fbp"}

INTRODUCTION = """# The paper's experiment on two of its data sets

{first}

The plan `paper` on Natural Scene and SCUT-FBP, the two data sets of the paper that we have:
{repeats} repeats of shuffled 60/20/20 splits, labels positive above 0.01, features standardised on
the training part. Recovery is scored on the training part, prediction on the test part. {chosen}
{counts} The other four data sets are listed as missing in the records.

    LDLEARN_DATA=... make paper

writes this page, on which no result is typed, and [report.md](report.md), the summary; `ldlearn
report research/paper/run` writes the whole report. {versions}

What to keep in mind:

- "Paper's setting" is what the paper states: no intercept, its grids, a fixed setting where it
  gives one. The steps of DLDL are solved exactly, which its released code does not do. L2 stops
  after five iterations, because its defaults take hours; FLE, GLLE, LEMLL, LESC and FCM are as
  stated.
- "Ours" has an intercept and a grid to choose from, under the same budget for all; only LESC keeps
  its stated setting, because tuning it takes as long as everything else together.
- "Labels alone" is DLDL with its defaults: its penalties are selected by the 0/1 labels of the
  training rows. All other hyperparameters on this page were selected by true distributions.
- The files are public copies; the authors' own may have exact zeros where these have tiny degrees,
  which Clark and the one-error notice. Splits differ. The paper does not say by which metric it
  selects.
- Scores in the tables beside print treat zeros as the paper's code does.
"""

FIRST = """## DLDL against tuned baselines with an intercept

Mean over the repeats; in brackets in how many of them DLDL is better (half a point for a tie). A
baseline uses no features: equal degrees of the positive labels, or one of two ways to distribute
the label frequencies over them; for prediction SA-BFGS (tuned like DLDL) or a constant is fitted to
it. FromClassifier is a baseline too: one logistic regression for each label, its probabilities, or
the votes they imply, normalised; it uses no true distributions. The last column is SA-BFGS trained
on the true distributions, tuned. No p-values: the repeats share rows, which the intervals above
allow for.

| Data set | Task | Metric | DLDL | labels alone | best baseline | best baseline | DLDL is \
| on truth |
|---|---|---|---|---|---|---|---|---|
"""

EQUAL_SHARES = (
    "The true degrees of Natural Scene are nearly equal shares of the positive labels (see "
    "UniformLE), so there is"
    " little to gain over teaching with those."
)

ARTEFACTS = """## Why Clark and the one-error say little here

A label whose true degree d is tiny adds (d - p)² / (d + p)² to the square of Clark: nearly one,
unless p is tiny in the same way. Both files have such degrees where a label was not chosen: about
2e-4 in Natural Scene, and in SCUT-FBP always 1e-6. Exact zeros, the right answer to a 0/1 label,
pay one for each, and so does any ordinary softmax; a method gains by hitting the order of magnitude
that a file happens to write. So Clark mostly counts these labels. The one-error (share of labels on
the wrong side of 0.01) is the same number for every method that is positive everywhere, and zero
for equal shares of the positive labels. Of the training labels, by data set:
"""

POSITIVE_CLARK = """
Clark over the positive labels alone, on the {rows} training rows that the records of each method
keep:
"""

IMPOSSIBLE = """## Where the paper cannot be right

Remarks on cells of these two data sets, as numbered in the tables' last column. A dagger marks a
printed value that is worse than the best baseline of this run: a method that looks at no feature,
for prediction a constant ("MeanLDL on truth" is the mean of the true training distributions), or a
classifier for each label (FromClassifier).
"""


def main() -> None:
    records, plan = read_records(RUN), (RUN / "plan.toml").read_text(encoding="utf-8")
    (RUN / "README.md").write_text(readme(Results(records, subject=OURS)), encoding="utf-8")
    (RUN / "report.md").write_text(Report(records, plan).markdown(), encoding="utf-8")


def readme(results: Results) -> str:
    """The page."""
    notes = Notes()
    tables = [
        beside_print(table, notes)
        for table in paired_tables(results)
        if not table.block.is_ablation
    ]
    tables.insert(
        0,
        "## Print beside ours\n\nMean and standard deviation over the repeats; printed ranks in "
        "brackets.",
    )
    parts = [
        introduction(results),
        target(results),
        artefacts(results),
        *tables,
        impossible(results, notes),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def introduction(results: Results) -> str:
    run = summarize_run(results)
    versions = next(record.versions for record in results.records if record.versions)
    return INTRODUCTION.format(
        first=who_is_first(results),
        repeats=run.repeats,
        chosen=" ".join(describe_selection(results)),
        counts=f"{run.n_ok} cells finished, {run.n_failed} failed.",
        versions=f"Made with "
        f"{', '.join(f'{name} {version}' for name, version in versions.items())}.",
    )


# --- Who is first

Row = tuple[str, Task, str]  # data set, task, name of a metric
ROWS: list[Row] = [
    (dataset, task, name)
    for dataset in DATASETS
    for task in TASKS
    for name in PAPER_METRICS.values()
]


def who_is_first(results: Results) -> str:
    """The first paragraph: where DLDL is first, and by whom and how much it is beaten where it is
    not."""
    scores = {row: Scores(results, *row[:2], METRICS[row[2]]) for row in ROWS}
    behind = [row for row in ROWS if scores[row].place(OURS) > 1]
    sound = [row for row in ROWS if row[2] not in ("clark", "threshold_error")]
    paragraph = (
        f"Of {len(ROWS)} comparisons (two data sets, recovery and prediction, four metrics) DLDL "
        f"is first, alone or"
        f" tied to four digits, in {len(ROWS) - len(behind)}, and in "
        f"{sum(row not in behind for row in sound)} of the"
        f" {len(sound)} where tiny degrees do not decide (see below)."
    )
    if behind:
        paragraph += (
            f" **It is not first** in "
            f"{'; '.join(beaten(results, row, scores[row]) for row in behind)}."
        )
    blind = sum(scores[row].place(BLIND) == 1 for row in ROWS)
    return (
        f"{paragraph} Without any truth to choose by, as it comes, it is first in {blind}. "
        f"{EQUAL_SHARES}"
    )


def beaten(results: Results, row: Row, scores: Scores) -> str:
    dataset, task, name = row
    leader = scores.rivals()[0]
    table = results.table(task, METRICS[name])
    gap = difference(results, table, OURS, leader, dataset) if table else None
    size = f"by {-gap.mean:.4f} ± {gap.margin:.4f}" if gap else ""
    ahead = f"number {scores.place(OURS)}, {leader} is ahead {size}"
    return f"{METRICS[name].title} of {task} on {DATASETS[dataset]} ({ahead})"


def target(results: Results) -> str:
    """DLDL against every baseline with an intercept and tuning, and against the baselines."""
    baselines = {method.estimator for method in results.methods.values() if method.is_baseline}
    lines = [FIRST.strip()]
    for dataset, task, name in ROWS:
        scores = Scores(results, dataset, task, METRICS[name])
        rival = scores.best(lambda method: method.estimator not in baselines)
        baseline = scores.best(lambda method: method.estimator in baselines)
        ceiling = scores.mean(CEILING) if CEILING in scores.values else "–"
        row = [
            DATASETS[dataset],
            task,
            titled(METRICS[name]),
            scores.mean(OURS),
            scores.mean(BLIND),
        ]
        row += [
            scores.against(OURS, rival),
            scores.against(OURS, baseline),
            ordinal(scores.place(OURS)),
            ceiling,
        ]
        lines.append(table_row(row))
    return "\n".join(lines)


class Scores:
    """Scores of one metric of one task on one data set, by method and repeat."""

    def __init__(self, results: Results, dataset: str, task: Task, metric: Metric) -> None:
        self.metric = metric
        self.methods = results.methods
        self.values: dict[str, dict[int, float]] = {
            name: {record.repeat: record.scores(task)[metric.name] for record in done}
            for name in results.methods
            if (
                done := [
                    record
                    for record in results.finished_records(dataset, name)
                    if record.scores(task)
                ]
            )
        }

    def average(self, method: str) -> float:
        return float(np.mean(list(self.values[method].values())))

    def mean(self, method: str) -> str:
        return f"{self.average(method):.4f}"

    def _order(self, value: float) -> float:
        return -value if self.metric.greater_is_better else value

    def rivals(self) -> list[str]:
        """Methods that compete with DLDL on equal terms, best first."""
        fair = [name for name in self.values if is_fair(self.methods[name])]
        return sorted(fair, key=lambda name: self._order(self.average(name)))

    def best(self, wanted: Callable[[Method], bool]) -> str:
        return next(name for name in self.rivals() if wanted(self.methods[name]))

    def place(self, method: str) -> int:
        mine = self._order(float(self.mean(method)))
        return 1 + sum(self._order(float(self.mean(rival))) < mine for rival in self.rivals())

    def against(self, method: str, rival: str) -> str:
        wins = 0.0
        for repeat, value in self.values[method].items():
            difference = self._order(value) - self._order(self.values[rival][repeat])
            wins += 0.5 if math.isclose(difference, 0.0, abs_tol=5e-5) else float(difference < 0)
        return f"{rival} {self.mean(rival)} ({wins:g} of {len(self.values[method])})"


def is_fair(method: Method) -> bool:
    """Whether a baseline has what DLDL has: only 0/1 labels, an intercept, and tuning if it can be
    tuned."""
    return not (method.is_reference or method.estimator == OURS or is_paper_setting(method))


def is_paper_setting(method: Method) -> bool:
    """Whether a method of the plan has the setting that the paper states."""
    stated = method.kind == "enhancer" and not method.is_baseline and "(tuned)" not in method.name
    return method.name.endswith("(paper)") or stated


# --- Print beside ours


class Notes:
    """Remarks, numbered in the order of their first use."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def number(self, text: str) -> int:
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text) + 1


def beside_print(table: PairedTable, notes: Notes) -> str:
    """One table of the paper: printed, ours with its setting, ours with our own."""
    datasets = [name for name in DATASETS if name in table.datasets]
    titles = [
        f"{DATASETS[name]}: {what}"
        for name in datasets
        for what in ("printed", "paper's setting", "ours")
    ]
    lines = [
        f"### {table.block.title}: {titled(table.metric)}",
        "",
        table_row(["Method", *titles, "Remarks"]),
    ]
    lines.append("|---|" + "---|" * (len(titles) + 1))
    for name in dict.fromkeys(row.paper_method for row in table.rows):
        mine = [row for row in table.rows if row.paper_method == name and row.method]
        stated = [row.scores for row in mine if row.method and is_paper_setting(row.method)]
        others = [row for row in mine if row.method and not is_paper_setting(row.method)]
        own = [row.scores for row in others if row.method and row.method.name != BLIND]
        cells, numbers = [name], set()
        for dataset in datasets:
            printed = next(
                (row.scores[dataset] for row in table.rows if row.paper_method == name), None
            )
            cells += [printed_text(printed), spread(stated, dataset), spread(own, dataset)]
            numbers |= {
                notes.number(text)
                for text in (printed.printed.remarks if printed and printed.printed else ())
            }
        lines.append(table_row([*cells, ", ".join(map(str, sorted(numbers)))]))
    baselines = [
        item for name in datasets for item in ("", "", baseline_text(table.baselines.get(name)))
    ]
    return "\n".join([*lines, table_row(["*best baseline*", *baselines, ""])])


def printed_text(cell: PairedScore | None) -> str:
    if cell is None or cell.printed is None:
        return "–"
    printed = cell.printed
    rank = (
        f" [{printed.rank}{f' → {printed.right_rank}' if printed.right_rank else ''}]"
        if printed.rank
        else ""
    )
    spread = f" ± {printed.std}" if printed.std else ""
    dagger = " †" if cell.below_baseline else ""
    return f"{printed.mean}{spread}{rank}{dagger}"


def spread(rows: Sequence[Mapping[str, PairedScore]], dataset: str) -> str:
    found = [row[dataset].ours for row in rows]
    return " or ".join(number(value) for value in found if value) or "–"


def baseline_text(baseline: tuple[str, Spread] | None) -> str:
    return f"{baseline[0]} {number(baseline[1])}" if baseline else "–"


def number(value: Spread) -> str:
    return f"{value.mean:.4f} ± {value.std:.4f}"


# --- What the metrics and the tables hide


def artefacts(results: Results) -> str:
    lines = [ARTEFACTS]
    for dataset, title in DATASETS.items():
        errors = Scores(results, dataset, "recovery", METRICS["threshold_error"])
        clarks = Scores(results, dataset, "recovery", METRICS["clark"])
        share = max(errors.average(name) for name in errors.values)
        constant = [
            name
            for name in errors.values
            if math.isclose(errors.average(name), share, abs_tol=5e-5)
        ]
        labels = next(d.sizes["n_labels"] for d in results.present_datasets if d.name == dataset)
        values = [clarks.average(name) for name in clarks.values]
        lines.append(
            f"- {title}: a share of {share:.4f} is not positive, {share * labels:.2f} of {labels} "
            f"a row, whose square"
            f" root is {math.sqrt(share * labels):.2f}. For recovery, Clark lies between "
            f"{min(values):.2f} and"
            f" {max(values):.2f}, and {len(constant)} of {len(errors.values)} methods have just "
            f"that one-error."
        )
    rows, table = positive_clark(results)
    return "\n".join([*lines, POSITIVE_CLARK.format(rows=rows).rstrip(), *table])


def positive_clark(results: Results) -> tuple[int, list[str]]:
    """Clark over positive labels only, of the rows kept in the records; methods in the order of the
    first data set."""
    found = {
        (name, dataset): clark_of_positives(results.by_method_and_dataset.get((name, dataset), []))
        for name, method in results.methods.items()
        for dataset in DATASETS
        if method.kind in ("enhancer", "joint")
    }
    first = next(iter(DATASETS))
    names = sorted(
        dict.fromkeys(name for name, _ in found),
        key=lambda name: float(np.mean(found[name, first])),
    )
    lines = ["", table_row(["Method", *DATASETS.values()]), "|---|" + "---|" * len(DATASETS)]
    lines += [
        table_row([name, *(f"{np.mean(found[name, d]):.4f}" for d in DATASETS)]) for name in names
    ]
    return max(map(len, found.values())), lines


def clark_of_positives(records: Iterable[Record]) -> list[float]:
    values: list[float] = []
    for record in records:
        samples = record.samples
        truth, recovered, logical = (
            np.array(each) for each in (samples.truth, samples.recovered, samples.logical)
        )
        positive = logical.astype(bool)
        total = np.where(positive, truth + recovered, 1.0)
        values += np.sqrt(
            np.sum(np.where(positive, (truth - recovered) / total, 0.0) ** 2, axis=1)
        ).tolist()
    return values


def impossible(results: Results, notes: Notes) -> str:
    lines = [IMPOSSIBLE, *(f"{place}. {text}" for place, text in enumerate(notes.texts, 1)), ""]
    lines += ["Printed values that are worse than the best baseline, with its name:", ""]
    lines += [
        table_row(["Tables", "Metric", *DATASETS.values()]),
        "|---|---|" + "---|" * len(DATASETS),
    ]
    for table in paired_tables(results):
        if not table.block.is_ablation:
            cells = [worse_than_baseline(table, dataset) for dataset in DATASETS]
            lines.append(table_row([table.block.title, titled(table.metric), *cells]))
    return "\n".join([*lines, "", *contradictions(results)])


def worse_than_baseline(table: PairedTable, dataset: str) -> str:
    printed = {
        row.paper_method: row.scores[dataset].below_baseline
        for row in table.rows
        if row.scores[dataset].printed
    }
    return f"{sum(printed.values())} of {len(printed)} ({table.baselines[dataset][0]})"


def contradictions(results: Results) -> list[str]:
    """Printed cells that break ``1 - baseline(c/2) Chebyshev <= Intersection <= 1 - Chebyshev``."""
    found = []
    for block in (block for block in BLOCKS if not block.is_ablation):
        chebyshev, intersection = (
            printed_scores()[block.key, name] for name in ("chebyshev", "intersection")
        )
        for (abbreviation, name), cell in chebyshev.items():
            dataset = ABBREVIATIONS.get(abbreviation)
            if dataset is None or (abbreviation, name) not in intersection:
                continue
            half = (
                next(d.sizes["n_labels"] for d in results.present_datasets if d.name == dataset)
                // 2
            )
            far, shared = float(cell.mean), float(intersection[abbreviation, name].mean)
            if not 1 - half * far - 1e-4 <= shared <= 1 - far + 1e-4:
                found.append(f"- {block.title}, {DATASETS[dataset]}, {name}: {far} and {shared}.")
    if not found:
        return [
            "Chebyshev and Intersection bound each other; no printed pair on these data sets "
            "breaks the bounds."
        ]
    return ["Pairs of Chebyshev and Intersection that no distributions can have:", "", *found]


# --- Words


def table_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def titled(metric: Metric) -> str:
    return f"{metric.title} {metric.symbol}"


def ordinal(place: int) -> str:
    return "**first**" if place == 1 else f"number {place}"


if __name__ == "__main__":
    main()
