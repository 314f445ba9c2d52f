"""The HTML page: one file, no network, everything escaped."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import Any

from ldlearn.evaluation import TASKS, Results
from ldlearn.evaluation.formatting import format_duration, plural
from ldlearn.exceptions import import_optional
from ldlearn.reporting.run_details import circumstances, progress, selected_parameters
from ldlearn.reporting.selection_summary import grid_points_of_methods
from ldlearn.reporting.text_tables import number, rank_text
from ldlearn.reporting.verdicts import headline, headline_of_dataset

_SCRIPTS = ("dom.js", "tables.js", "charts.js", "sections.js")


def render(results: Results, **parts: Any) -> str:
    """Fill the template of the report.

    Parameters
    ----------
    results : Results
    **parts : object
        What else the template names; text in it is escaped.

    Returns
    -------
    str
    """
    environment = _environment()
    functions = {"headline": headline, "headline_of_dataset": headline_of_dataset, "plural": plural}
    style, *scripts = (environment.loader.get_source(environment, name)[0] for name in ("style.css", *_SCRIPTS))
    script = "\n".join(scripts)
    # What the page's security policy allows to run: this script and nothing that a name might smuggle in.
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    page = environment.get_template("report.html").render(
        results=results,
        tasks=TASKS,
        run=circumstances(results),
        progress=list(progress(results)),
        selected=selected_parameters(results),
        points=grid_points_of_methods(results),
        style=style,
        script=script,
        script_hash=f"sha256-{digest}",
        **functions,
        **parts,
    )
    return str(page)


@cache
def _environment() -> Any:
    """One for all pages, since to compile the template takes longer than to fill it."""
    jinja2 = import_optional("jinja2", "report", "Reports")
    # A name that the template misspells is an error here, not an empty place on the page.
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ldlearn.reporting"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "rank": rank_text, "duration": format_duration}
    return environment
