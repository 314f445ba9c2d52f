"""Sphinx extension: tables made from the library's own registries: methods, metrics, data sets,
plans, commands."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from docutils import nodes
from sklearn.utils import get_tags
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def methods(kind: str) -> str:
    """Name, summary and promises of the estimators of a kind."""
    from ldlearn import all_estimators

    lines = ["| | what it does | zeros stay zero |", "|---|---|---|"]
    for name, estimator in all_estimators(kind):
        if estimator.__module__.startswith("ldlearn.compose."):
            continue
        summary = (estimator.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
        keeps = "yes" if get_tags(estimator()).keeps_zeros else "no"
        lines.append(f"| {{py:obj}}`~ldlearn.{name}` | {_tidy(summary)} | {keeps} |")
    if kind == "learner":
        lines = [
            line.rpartition(" |")[0].rpartition(" |")[0] + " |" for line in lines[:1] + lines[2:]
        ]
        lines.insert(1, "|---|---|")
    return "\n".join(lines)


def weights() -> str:
    """Every method by the effect of sample weight 2, with its default parameters."""
    from ldlearn import all_estimators

    lines = {
        "yes": [],
        "except for a graph, random draws and rounding (below)": [],
        "depends on the inner estimators": [],
        "no: sample weights are refused": [],
    }
    for name, estimator in all_estimators():
        lines[_what_weights_do(estimator, list(lines))].append(f"{{py:obj}}`~ldlearn.{name}`")
    rows = [f"| {what} | {', '.join(names)} |" for what, names in lines.items()]
    return "\n".join(
        ["| weight 2 equals the row twice | methods, with default parameters |", "|---|---|", *rows]
    )


def _what_weights_do(estimator: Any, words: list[str]) -> str:
    twice, nearly, as_the_parts, none = words
    if estimator.__module__.startswith("ldlearn.compose."):
        return as_the_parts
    capabilities = get_tags(estimator())
    if not capabilities.sample_weight:
        return none
    return twice if capabilities.weight_equals_repetition else nearly


def metrics() -> str:
    """Every registered metric."""
    from ldlearn.metrics import LABEL_METRICS, METRICS

    lines = [
        "| function | for a row, d true (y true 0/1 labels) and p predicted | better |",
        "|---|---|---|",
    ]
    for metric in [*METRICS.values(), *LABEL_METRICS.values()]:
        formula = metric.formula.replace("|", "\\|")
        better = "greater" if metric.greater_is_better else "smaller"
        lines.append(f"| {{py:obj}}`~ldlearn.metrics.{metric.name}` | `{formula}` | {better} |")
    return "\n".join(lines)


def datasets() -> str:
    """Every data set of the catalogue, and those that come with the package."""
    from ldlearn.datasets import list_datasets

    lines = [
        "| name | rows | features | labels | comes with the package |",
        "|---|--:|--:|--:|---|",
    ]
    for info in list_datasets():
        sizes = " | ".join(
            f"{count:,}" if count else "?"
            for count in (info.n_samples, info.n_features, info.n_labels)
        )
        lines.append(f"| `{info.name}` | {sizes} | {'yes' if info.state == 'embedded' else ''} |")
    return "\n".join(lines)


def plans() -> str:
    """The plans that come with the package."""
    from ldlearn.experiments import shipped_plans

    lines = ["| plan | what it is |", "|---|---|"]
    for name in shipped_plans():
        content = tomllib.loads(
            files("ldlearn.experiments").joinpath("plans", f"{name}.toml").read_text("utf-8")
        )
        lines.append(f"| `{name}` | {content.get('description', '')} |")
    return "\n".join(lines)


def commands() -> str:
    """A section for each command."""
    from ldlearn.cli.app import COMMANDS

    return "\n\n".join(
        f"## {entry.name}\n\n{entry.help}\n\n{command(entry.name)}" for entry in COMMANDS
    )


def command(name: str) -> str:
    """The arguments and options of a command, from the command itself."""
    from ldlearn.cli.app import load_command

    found = load_command(name)
    inner = getattr(found, "commands", {})
    rows = [row for each in (found, *inner.values()) for row in _parameters(each, inner)]
    return "\n".join(["| argument or option | what it is |", "|---|---|", *rows])


def _parameters(found: Any, inner: dict[str, Any]) -> list[str]:
    """A line for each argument and option that a user should know of, those of an inner command
    after its name."""
    before = f"{found.name} " if found in inner.values() else ""
    rows = []
    for param in found.params:
        if getattr(param, "hidden", False) or param.name == "help":
            continue
        names = ", ".join(param.opts) if param.param_type_name == "option" else ""
        value = "" if getattr(param, "is_flag", False) else (param.metavar or param.name.upper())
        usage = _tidy(before + " ".join(filter(None, (names, value))))
        rows.append(f"| `{usage}` | {_tidy(param.help or '')} |")
    return rows


def _tidy(text: str) -> str:
    """A line of a docstring as Markdown in a cell of a table."""
    return text.replace("``", "`").replace("|", "\\|")


LISTINGS = {
    "metrics": metrics,
    "weights": weights,
    "datasets": datasets,
    "plans": plans,
    "commands": commands,
}


class Listing(SphinxDirective):
    """``{listing} metrics``, ``{listing} methods joint`` or ``{listing} commands``."""

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the table as if it stood in the page."""
        what, *rest = self.arguments
        text = methods(*rest) if what == "methods" else LISTINGS[what]()
        return list(self.parse_text_to_nodes(text, allow_section_headings=True))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("listing", Listing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
