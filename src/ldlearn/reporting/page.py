"""The HTML page: one file, no network, everything escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from ldlearn.errors import import_optional
from ldlearn.reporting.text_tables import number, rank_text
from ldlearn.results.wording import duration_text

_SCRIPTS = ("dom.js", "tables.js", "charts.js", "sections.js")


def render(context: Mapping[str, Any]) -> str:
    """Fill the template of the report.

    Parameters
    ----------
    context : mapping
        What the template names; text in it is escaped.

    Returns
    -------
    str
    """
    script = "\n".join(_resource(name) for name in _SCRIPTS)
    # What the page's security policy allows to run: this script and nothing that a name might smuggle in.
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    parts = {"style": _resource("style.css"), "script": script, "script_hash": f"sha256-{digest}"}
    jinja2 = import_optional("jinja2", "report", "Reports")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ldlearn.reporting"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "rank": rank_text, "duration": duration_text}
    return str(environment.get_template("report.html").render(**context, **parts))


def _resource(name: str) -> str:
    return files("ldlearn.reporting").joinpath("templates", name).read_text(encoding="utf-8")
