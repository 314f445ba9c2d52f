"""The report of a run: a page, tables and figures, from its records."""

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain, product
from pathlib import Path
from typing import Any

from ldlearn.datasets import DatasetError, dataset_info
from ldlearn.evaluation import TASKS, Record, Results, agreement, costs, read_records
from ldlearn.evaluation.json_types import parse_toml, read_value
from ldlearn.evaluation.record import RunFolderError, find_records, path_inside
from ldlearn.evaluation.text_tables import agreement_table, combined_table, cost_table, score_table
from ldlearn.exceptions import InputError
from ldlearn.metrics import HEADLINE_METRICS
from ldlearn.reporting import experiment_displays as displays
from ldlearn.reporting.conclusions import compare_average_ranks
from ldlearn.reporting.display import Display
from ldlearn.reporting.model_displays import DistributionBarsDisplay
from ldlearn.reporting.page import (
    example_row,
    inline_svg,
    page_data,
    page_script,
    render,
)
from ldlearn.reporting.run_summary import describe_evaluation, describe_selection, summarize_run
from ldlearn.tables.files import FilePath, write_file

_FIGURE_FORMATS = ("svg", "png", "pdf")
_MAX_BARS = 200  # labels of a figure with a bar for each


def write_report(
    run_dir: FilePath, output: FilePath | None = None, *, formats: Sequence[str] = _FIGURE_FORMATS
) -> Path:
    """Write the report of a run: ``report.html``, ``report.md``, ``tables/`` and ``figures/``.

    Parameters
    ----------
    run_dir : path-like
        Folder of a run, or a file of records. A ``plan.toml`` beside them gives title, description,
        headline metrics and subject; neither a plan nor the data are needed.
    output : path-like, optional
        Folder to write to; that of the run by default.
    formats : sequence of str, default=("svg", "png", "pdf")
        Formats of the figures; empty for none.

    Returns
    -------
    pathlib.Path
        The page, which needs none of the other files.
    """
    folder = find_records(run_dir).parent
    plan_file = folder / "plan.toml"
    records = read_records(run_dir)
    try:
        report = Report(records, plan_file.read_bytes().decode() if plan_file.is_file() else "")
    except (InputError, UnicodeDecodeError) as error:
        raise RunFolderError(f"{folder} cannot be reported: {error}") from None
    return report.write(folder if output is None else Path(output), formats=formats)


@dataclass(frozen=True)
class _PlanFacts:
    """What a report uses of a plan; not a Plan, since that, or its data, may not be usable here."""

    name: str = ""
    description: str = ""
    subject: str = ""
    metrics: list[str] = field(default_factory=list)
    display_names: Mapping[str, str] = field(default_factory=dict)


class Report:
    """Content of a report, computed from records.

    Parameters
    ----------
    records : iterable of Record
    plan : str, optional
        The plan in TOML; its name, description, metrics and subject are used.
    """

    def __init__(self, records: Iterable[Record], plan: str = "") -> None:
        self.plan_text = plan
        self._file_content = cache(_file_content)  # figures of the page are also written as files
        try:
            self.plan: _PlanFacts = read_value(parse_toml(plan.encode()), _PlanFacts)
        except InputError as error:
            raise InputError(f"its plan is not valid ({error}).") from None
        records = list(records)
        headline = self.plan.metrics or HEADLINE_METRICS
        # The metric that needs no explanation is first, where the plan has it. With few votes, it
        # would be low even for the true degrees.
        if not any(record.is_scored_by_votes for record in records):
            headline = sorted(headline, key=lambda name: name != "intersection")
        self.results = Results(records, headline, self.plan.subject)
        if not self.results.records:
            raise InputError("There are no records to report; run the plan first.")
        self.tables = {}
        self.headline_tables = []
        self.conclusions = {}
        for task, metric in product(TASKS, self.results.metrics):
            table = self.results.table(task, metric)
            if table is None:
                continue
            self.tables[task, metric.name] = table
            # Only the metrics of the plan are tested: among tests of all metrics, some would be
            # significant by chance.
            if metric in self.results.headline_metrics:
                self.headline_tables.append(table)
                conclusion = compare_average_ranks(table, self.results.subject)
                self.conclusions[task, metric.name] = conclusion
        self._page_data = page_data(self.results)
        self.costs = costs(self.results)
        self.run = summarize_run(self.results)
        self.protocol = [*describe_evaluation(self.results), *describe_selection(self.results)]
        self.agreements = []
        for dataset, task in product(self.results.present_datasets, TASKS):
            found = agreement(self.results, dataset.name, task)
            if found is not None:
                self.agreements.append(found)

    @property
    def main_metric(self) -> str:
        """Name of the metric of the first sentences."""
        if self.results.voted_datasets:
            return self.results.headline_metrics[0].name
        return "intersection"

    @property
    def title(self) -> str:
        """Name of the plan, or a general one."""
        return f"Experiment “{self.plan.name}”" if self.plan.name else "Experiment"

    def write(self, folder: Path, *, formats: Sequence[str] = _FIGURE_FORMATS) -> Path:
        """Write all files, the page last."""
        files: dict[str, Any] = self.text_files()
        if formats:
            files |= self._figure_files(formats)
        files["report.html"] = self.html()
        for name, content in files.items():
            path = path_inside(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, content)
        return folder / "report.html"

    def text_files(self) -> dict[str, str]:
        """Markdown and LaTeX tables, and the whole report in Markdown, by file name."""
        tables = {}
        for table in self.headline_tables:
            name = f"{table.task}-{table.metric.name}"
            tables[name] = score_table(table, self.results, self._display_name)
        for task in TASKS:
            of_task = [table for table in self.headline_tables if table.task == task]
            if of_task:
                combined = combined_table(of_task, self.results, self._display_name)
                tables[f"{task}-combined"] = combined
        for found in self.agreements:
            name = f"agreement-{found.task}-{file_name(found.dataset)}"
            tables[name] = agreement_table(found)
        tables["time-and-memory"] = cost_table(self.costs)
        files = {"report.md": self.markdown()}
        for name, suffix in product(tables, ("md", "tex")):
            text = render(f"table.{suffix}", self, table=tables[name], label=name)
            files[f"tables/{name}.{suffix}"] = text
        return files

    def _display_name(self, name: str) -> str:
        """The name in the plan, or the title of a data set of the catalogue."""
        if name in self.plan.display_names:
            return self.plan.display_names[name]
        if name in self.results.methods:
            return name
        try:
            return dataset_info(name).title
        except DatasetError:
            return name

    def markdown(self) -> str:
        """The report as one Markdown text: protocol, tables, tests, costs."""
        return render("report.md", self)

    def html(self) -> str:
        """The page."""
        figures = {}
        for name, display in self._page_figures.items():
            figures[name] = inline_svg(self._file_content(display, "svg"), name)
        example = example_row(self.results, self._page_data["samples"])
        script = page_script("dom.js", "tables.js", "charts.js", "sections.js")
        return render(
            "report.html",
            self,
            figures=figures,
            example=example,
            data=self._page_data,
            **script,
        )

    @cached_property
    def _page_figures(self) -> dict[str, Display]:
        """The figures of the page, by file name."""
        found: dict[str, Display] = {}
        for (task, metric), conclusion in self.conclusions.items():
            table = self.tables[task, metric]
            # Only the twelve best methods and the subject of the plan: more would not be readable.
            names = table.non_baselines[:12]
            if self.results.subject in table.non_baselines[12:]:
                names.append(self.results.subject)
            if table.baselines and names:
                found[f"differences-{task}-{metric}"] = displays.DifferencesDisplay.from_records(
                    self.results, metric, task=task, methods=names
                )
            if conclusion.pairs is not None:
                diagram = displays.CriticalDifferenceDisplay(
                    conclusion.pairs, muted=table.baselines
                )
                found[f"critical-difference-{task}-{metric}"] = diagram.plot()
        if self.costs:
            found["time-and-memory"] = displays.TimeMemoryDisplay.from_records(self.results)
        return found

    def _further_figures(self) -> Iterator[tuple[str, Display]]:
        """Figures that are only written as files, since the page draws the same from its data."""
        results = self.results
        for dataset in self._page_data["convergence"]:
            convergence = displays.ConvergenceDisplay.from_records(results, dataset)
            yield f"convergence-{file_name(dataset)}", convergence
        for dataset, methods in self._page_data["sensitivity"].items():
            # The page has all methods; as files, the subject of the plan.
            if results.subject is not None and results.subject in methods:
                curves = displays.SensitivityDisplay.from_records(results, dataset, results.subject)
                yield f"sensitivity-{file_name(dataset)}", curves
        for dataset, found in self._page_data["samples"].items():
            if len(found["labels"]) <= _MAX_BARS:
                bars = DistributionBarsDisplay.from_records(results, dataset)
                yield f"distributions-{file_name(dataset)}", bars

    def _figure_files(self, formats: Sequence[str]) -> dict[str, bytes]:
        files = {}
        taken: Counter[str] = Counter()
        for name, display in chain(self._page_figures.items(), self._further_figures()):
            taken[name] += 1
            # Names of data sets may differ only in characters that file names do not have.
            if taken[name] > 1:
                name = f"{name}-{taken[name]}"
            for format in formats:
                files[f"figures/{name}.{format}"] = self._file_content(display, format)
        return files


def file_name(name: str) -> str:
    """Letters, digits and single hyphens, at most 80."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80] or "unnamed"


def _file_content(display: Display, format: str) -> bytes:
    """A figure as a file; characters that the font lacks are drawn as boxes without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        # The layout is half of the work, and the same in every format.
        display.fix_layout()
        return display.to_bytes(format, dpi=160)
