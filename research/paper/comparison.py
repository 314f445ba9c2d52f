"""The numbers of the DLDL paper beside those of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ldlearn._messages import normalize_name
from ldlearn.evaluation import Method, Results, Spread
from ldlearn.metrics import METRICS, Metric
from research.paper.printed_tables import (
    BLOCKS,
    PAPER_METRICS,
    SUBJECT,
    Block,
    PrintedCell,
    abbreviations,
)
from research.paper.remarks import printed_scores

# "alpha = 0" and not "alpha = 0.5"
_ABLATED = re.compile(r"\b(alpha|beta|gamma)\s*=\s*0(?![.\d])")


@dataclass(frozen=True)
class PairedScore:
    """A printed score, ours, the numbers of notes on it, and whether a baseline of this run beats
    the printed one."""

    printed: PrintedCell | None
    ours: Spread | None
    notes: tuple[int, ...] = ()
    below_baseline: bool = False


@dataclass(frozen=True)
class PairedRow:
    """A method of the paper with a method of this run; `method` is None if it was not run."""

    paper_method: str
    method: Method | None
    scores: Mapping[str, PairedScore]


def paired_tables(results: Results) -> list[PairedTable]:
    """Every table of the paper of which this run has a data set and a method.

    Parameters
    ----------
    results : Results

    Returns
    -------
    list of PairedTable
        By experiment of the paper and metric.
    """
    tables = [
        PairedTable(results, block, METRICS[name])
        for block in BLOCKS
        for name in PAPER_METRICS.values()
    ]
    return [table for table in tables if table.worth_showing]


def paper_method(method: Method, block: Block, names: Iterable[str]) -> str | None:
    """The paper's name of a method of ours in a block of tables, one of the names given; None if it
    has none."""
    # Records of 0.1.0 know only the name that a plan gave, "GLLE + SABFGS", "DLDL (paper)" or
    # "DLDL, alpha = 0".
    ablated = _ABLATED.search(method.name)
    if block.is_ablation:
        return (
            f"{ablated[1]}=0"
            if ablated
            else SUBJECT
            if normalize_name(method.name) == normalize_name(SUBJECT)
            else None
        )
    if ablated or not _learner_fits(method, block):
        return None
    first = method.estimator or re.split(r"[(+,]| on ", method.name)[0]
    return next((name for name in names if normalize_name(name) == normalize_name(first)), None)


def _learner_fits(method: Method, block: Block) -> bool:
    learner = normalize_name(
        method.learner or (method.name.split("+")[1] if "+" in method.name else "")
    )
    # Tables of prediction differ in the learner that follows; an enhancer alone predicts nothing.
    return (
        learner == normalize_name(block.learner)
        if learner
        else method.kind != "enhancer" or block.task == "recovery"
    )


class PairedTable:
    """A table of the paper beside ours for one metric.

    Parameters
    ----------
    results : Results
    block : Block
    metric : Metric

    Attributes
    ----------
    datasets : dict of str to str
        Data sets of this run that the paper has, with its abbreviations.
    baselines : dict of str to (str, Spread)
        By data set, the best baseline of this run.
    rows : list of PairedRow
    notes : list of str
        Numbered from 1, in reading order.
    """

    def __init__(self, results: Results, block: Block, metric: Metric) -> None:
        self.results, self.block, self.metric = results, block, metric
        known = abbreviations()
        self.datasets = {
            d.name: known[normalize_name(d.name)]
            for d in results.present_datasets
            if normalize_name(d.name) in known
        }
        self.baselines = {
            d: best for d in self.datasets if (best := self._best_baseline(d)) is not None
        }
        self.notes: list[str] = []
        self._printed = printed_scores().get((block.key, metric.name), {})
        run: dict[str | None, list[Method]] = {}
        names = dict.fromkeys(name for _, name in self._printed)
        for method in results.methods.values():
            run.setdefault(paper_method(method, block, names), []).append(method)
        # Several methods of ours (as published, tuned) may stand for one of the paper.
        self.rows = [self._row(name, method) for name in names for method in run.get(name, [None])]

    @property
    def worth_showing(self) -> bool:
        """Whether there is something to compare; of an ablation, more than the whole method."""
        compared = {row.paper_method for row in self.rows if row.method}
        return bool(self.datasets) and bool(
            compared - {SUBJECT} if self.block.is_ablation else compared
        )

    def _row(self, name: str, method: Method | None) -> PairedRow:
        return PairedRow(
            name,
            method,
            {dataset: self._paired(name, method, dataset) for dataset in self.datasets},
        )

    def _paired(self, name: str, method: Method | None, dataset: str) -> PairedScore:
        printed = self._printed.get((self.datasets[dataset], name))
        ours = self._score(method.name, dataset) if method else None
        if printed is None:
            return PairedScore(None, ours)
        order, baseline = self.metric.sort_key, self.baselines.get(dataset)
        beaten = baseline is not None and order(baseline[1].mean) < order(printed.value)
        return PairedScore(printed, ours, self._numbers(printed.remarks), beaten)

    def _numbers(self, remarks: Iterable[str]) -> tuple[int, ...]:
        self.notes += [text for text in remarks if text not in self.notes]
        return tuple(sorted(self.notes.index(text) + 1 for text in remarks))

    def _score(self, method: str, dataset: str) -> Spread:
        """Our score; with the paper's treatment of zeros where the records hold it."""
        task, name = self.block.task, self.metric.name
        zeros = [
            record.paper_zeros.get(task)
            for record in self.results.finished_records(dataset, method)
        ]
        # Of the metrics of the paper, Clark alone depends on what is added to zeros; the others
        # have no second score.
        as_paper = Spread.from_values(scores.get(name) for scores in zeros if scores)
        return as_paper or self.results.spread(method, dataset, task, name)

    def _best_baseline(self, dataset: str) -> tuple[str, Spread] | None:
        baselines = [method.name for method in self.results.methods.values() if method.is_baseline]
        known = [(name, spread) for name in baselines if (spread := self._score(name, dataset))]
        return min(known, key=lambda entry: self.metric.sort_key(entry[1].mean), default=None)
