"""`ldlearn audit`: the numbers of the DLDL paper, checked."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ldlearn.cli.console import say, show_json
from ldlearn.cli.options import Json, split_names
from ldlearn.paper import audit_paper
from ldlearn.results.wording import plural


def audit(
    only: Annotated[str | None, typer.Option(metavar="NAMES", help="Topics or findings, as ranks,floors.")] = None,
    as_json: Json = False,
) -> None:
    """Check the printed numbers of the DLDL paper, and list what does not agree.

    \b
    ldlearn audit
    ldlearn audit --only ranks/S5,floors
    """
    findings = audit_paper(split_names(only))
    if as_json:
        show_json({"findings": [asdict(finding) for finding in findings]})
        return
    for finding in findings:
        say(f"{finding}\n")
    say(f"{plural(len(findings), 'finding')}.")
