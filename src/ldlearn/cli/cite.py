"""`ldlearn cite`: the papers of methods as BibTeX."""

from typing import Annotated

import typer

from ldlearn.base.discovery import find_estimator
from ldlearn.base.references import references
from ldlearn.cli.console import print_message, print_result


def cite(
    methods: Annotated[list[str], typer.Argument(metavar="METHOD...", help="Names as `ldlearn methods` lists them.")],
) -> None:
    """Print BibTeX entries of the papers of methods.

    \b
    ldlearn cite DLDL GLLE > methods.bib
    """
    entries: dict[str, str] = {}
    for name in methods:
        found = references(find_estimator(name))
        entries |= {reference.key: reference.to_bibtex() for reference in found}
        if not found:
            print_message(f"{name} is not from a paper; cite the software (CITATION.cff).")
    print_result("\n\n".join(entries.values()))
