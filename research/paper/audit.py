"""The audit of the DLDL paper: its printed numbers recomputed, checked against each other and
against baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ldlearn._messages import suggest_name
from ldlearn.exceptions import ParameterError
from research.paper import baseline_checks, rank_checks, value_checks
from research.paper.finding import Finding
from research.paper.printed_tables import PrintedCell, printed_cells

# By the topic of the findings.
CHECKS: dict[str, Callable[[Sequence[PrintedCell]], Iterator[Finding]]] = {
    "ranks": rank_checks.check_ranks,
    "averages": rank_checks.check_averages,
    "backwards": rank_checks.check_directions,
    "first-places": rank_checks.check_first_places,
    "critical-difference": rank_checks.check_critical_difference,
    "significance": rank_checks.check_significance,
    "identities": value_checks.check_identities,
    "clark-baseline": value_checks.check_clark_baseline,
    "agreement": value_checks.check_agreement,
    "copies": value_checks.check_copies,
    "repeated": value_checks.check_repeated_values,
    "ablation": value_checks.check_ablation,
    "text": value_checks.check_metric_names,
    "baselines": baseline_checks.check_baselines,
}


def audit_paper(
    only: Iterable[str] | None = None, *, cells: Sequence[PrintedCell] | None = None
) -> list[Finding]:
    """Check the numbers printed in the DLDL paper.

    Parameters
    ----------
    only : iterable of str, optional
        Topics (``"ranks"``) or ids of findings (``"ranks/S5"``) to keep; by default all.
    cells : sequence of PrintedCell, optional
        Cells of the tables, in place of `printed_cells`.

    Returns
    -------
    list of Finding

    Examples
    --------
    >>> from research.paper import audit_paper
    >>> for finding in audit_paper(["first-places", "backwards"]):
    ...     print(finding.id, finding.truth, sep=": ")
    backwards/Clark-Twitter: The whole column is ranked with the worst first; DLDL is number 7 of 7.
    first-places/2: It is first in 20 of 24, 83.3 % (first 20, second 3, last 1).
    first-places/S5: It is first in 15 of 24, 62.5 % (first 15, second 5, last 1).
    """
    wanted = set(CHECKS if only is None else only)
    topics = {name.partition("/")[0]: name for name in wanted}
    for topic, name in topics.items():
        if topic not in CHECKS:
            raise ParameterError(
                f"The audit has no topic {name!r}; {suggest_name(name, CHECKS, 'its topics are')}"
            )
    checks = [check for topic, check in CHECKS.items() if topic in topics]
    found = [
        finding
        for check in checks
        for finding in check(printed_cells() if cells is None else cells)
    ]
    # A topic names all its findings, an id one of them.
    return [finding for finding in found if {finding.id, finding.topic} & wanted]


def print_findings(*only: str) -> None:
    """Print the findings of some topics, or all of them."""
    print("\n\n".join(map(str, audit_paper(only or None))))
