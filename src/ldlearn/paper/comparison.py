"""The numbers of the DLDL paper beside those of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ldlearn.errors import bare_name
from ldlearn.metrics import METRICS, Metric
from ldlearn.paper.ranks import PAPER_METRICS
from ldlearn.paper.tables import BLOCKS, Block, Printed, abbreviations, paper_methods, printed_scores
from ldlearn.results import Method, Results, Spread

_ABLATED = re.compile(r"\b(alpha|beta|gamma)\s*=\s*0(?![.\d])")


@dataclass(frozen=True)
class PairedScore:
    """A score of the paper, ours, the numbers of notes on it, and whether a floor of this run beats the printed one."""

    printed: Printed | None
    ours: Spread | None
    notes: tuple[int, ...] = ()
    below_floor: bool = False


@dataclass(frozen=True)
class PairedRow:
    """A method of the paper with a method of this run; `method` is None if it was not run."""

    paper_method: str
    method: Method | None
    scores: Mapping[str, PairedScore]


@dataclass(frozen=True)
class PairedTable:
    """A table of the paper beside ours for one metric.

    Attributes
    ----------
    floors : dict of str to (str, Spread)
        By data set, the best floor of this run.
    notes : tuple of str
        Numbered from 1.
    """

    block: Block
    metric: Metric
    datasets: tuple[str, ...]
    rows: tuple[PairedRow, ...]
    floors: Mapping[str, tuple[str, Spread]]
    notes: tuple[str, ...]


def paired_tables(results: Results) -> list[PairedTable]:
    """Every table of the paper of which this run has a data set and a method."""
    pairings = [_Pairing(results, block, METRICS[name]) for block in BLOCKS for name in PAPER_METRICS.values()]
    return [pairing.table() for pairing in pairings if pairing.worth_showing]


def paper_method(method: Method, block: Block) -> str | None:
    """The paper's name of a method of ours in a block of tables; None if it has none."""
    # Records of 0.1.0 know only the name that a plan gave, "GLLE + SABFGS", "DLDL (paper)" or "DLDL, alpha = 0".
    ablated = _ABLATED.search(method.name)
    if block.is_ablation:
        return f"{ablated[1]}=0" if ablated else "DLDL" if bare_name(method.name) == "dldl" else None
    if ablated or not _learner_fits(method, block):
        return None
    first = method.estimator or re.split(r"[(+,]| on ", method.name)[0]
    return paper_methods(block).get(bare_name(first))


def _learner_fits(method: Method, block: Block) -> bool:
    learner = bare_name(method.learner or (method.name.split("+")[1] if "+" in method.name else ""))
    return learner == bare_name(block.learner) if learner else method.kind != "enhancer" or block.task == "recovery"


class _Pairing:
    """One table of the paper with the records of a run."""

    def __init__(self, results: Results, block: Block, metric: Metric) -> None:
        self.results, self.block, self.metric = results, block, metric
        self.printed = printed_scores().get((block.key, metric.name), {})
        known = abbreviations()
        self.columns = {d.name: known[bare_name(d.name)] for d in results.present if bare_name(d.name) in known}
        self.run: dict[str, list[Method | None]] = {name: [] for _, name in self.printed}
        for method in results.methods.values():
            name = paper_method(method, block)
            if name in self.run:
                self.run[name].append(method)
        self.floors = {d: best for d in self.columns if (best := self._best_floor(d)) is not None}
        self.notes: list[str] = []

    @property
    def worth_showing(self) -> bool:
        """Whether there is something to compare; of an ablation, more than the whole method."""
        compared = {name for name, methods in self.run.items() if methods}
        return bool(self.columns) and bool(compared - {"DLDL"} if self.block.is_ablation else compared)

    def table(self) -> PairedTable:
        """The paired table, notes numbered in reading order."""
        rows = []
        for name, methods in self.run.items():
            for method in methods or [None]:
                scores = {dataset: self._paired(name, method, dataset) for dataset in self.columns}
                rows.append(PairedRow(name, method, scores))
        return PairedTable(self.block, self.metric, tuple(self.columns), tuple(rows), self.floors, tuple(self.notes))

    def _paired(self, name: str, method: Method | None, dataset: str) -> PairedScore:
        printed = self.printed.get((self.columns[dataset], name))
        ours = self._score(method.name, dataset) if method else None
        if printed is None:
            return PairedScore(None, ours)
        beaten = self._below_floor(float(printed.mean), dataset)
        return PairedScore(printed, ours, self._numbers(printed.remarks), beaten)

    def _numbers(self, remarks: Iterable[str]) -> tuple[int, ...]:
        self.notes += [text for text in remarks if text not in self.notes]
        return tuple(sorted(self.notes.index(text) + 1 for text in remarks))

    def _score(self, method: str, dataset: str) -> Spread | None:
        """Our score; with the paper's treatment of zeros where the records hold it."""
        task, name = self.block.task, self.metric.name
        zeros = [record.paper_zeros.get(task) for record in self.results.finished(dataset, method)]
        as_paper = Spread.of(scores.get(name) for scores in zeros if scores)
        return as_paper or self.results.spread(method, dataset, task, name)

    def _best_floor(self, dataset: str) -> tuple[str, Spread] | None:
        floors = [method.name for method in self.results.methods.values() if method.is_floor]
        known = [(name, spread) for name in floors if (spread := self._score(name, dataset)) is not None]
        return min(known, key=lambda entry: self.metric.sort_key(entry[1].mean), default=None)

    def _below_floor(self, printed: float, dataset: str) -> bool:
        order = self.metric.sort_key
        return dataset in self.floors and order(self.floors[dataset][1].mean) < order(printed)
