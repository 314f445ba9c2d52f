"""A plan for a table of one's own: which method suits it, in one line."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn.base.discovery import find_estimator
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.experiments.methods import MethodSpec
from ldlearn.experiments.plan import Plan
from ldlearn.metrics import HEADLINE_METRICS, LABEL_HEADLINE
from ldlearn.tables import PreparedTable
from ldlearn.tables.source import Say

# What is tried by default: ours, the vote model, what anyone would do first, two steps, and constants as baselines.
METHODS = (
    "DLDL", "VoteLDL", "FromClassifier", "PriorLE+SABFGS", "UniformLE+SABFGS", "PriorLE+MeanLDL", "UniformLE+MeanLDL"
)  # fmt: skip
_FOLLOWS = "SABFGS"  # a learner after an enhancer that is named alone, so that it can be judged on other rows


def plan_for_table(
    path: str,
    labels: str,
    *,
    methods: Sequence[str] = METHODS,
    repeats: int = 5,
    seed: int = 0,
    columns: Mapping[str, Any] | None = None,
    say: Say | None = None,
) -> tuple[Plan, PreparedTable]:
    """A plan that compares methods on a table, with nothing tuned, and the table as it was understood.

    Parameters
    ----------
    path : str
        The table: 0/1 labels (some may be unknown), counts of votes, or degrees.
    labels : str
        Its label columns.
    methods : sequence of str
        Joint models, enhancers (a learner follows) and pairs ``ENHANCER+LEARNER``.
    repeats, seed : int
        Of shuffled splits into 60 % training, 20 % validation and 20 % test rows.
    columns : mapping, optional
        Further arguments of `ldlearn.tables.prepare_table`: features, id, text, delimiter, ...
    say : callable, optional
        Is told how the table was understood where that is not the usual; by default it becomes a warning.

    Returns
    -------
    plan : Plan
    table : PreparedTable
    """
    # Up to the first point, as in data.csv.gz; a name that begins with one leaves nothing.
    name = Path(path).name.partition(".")[0] or "table"
    chosen = {key: value for key, value in (columns or {}).items() if value is not None}
    source = {"path": str(Path(path).resolve()), "preprocess": True, "labels": labels, **chosen}
    plan = Plan.from_dict(
        {
            "name": name,
            "protocol": {"repeats": repeats, "seed": seed},
            "selection": {"mode": "logical"},  # nothing is tuned, and no truth may choose
            "datasets": {name: source},
            "methods": dict(map(_method, methods)),
        }
    )
    table = plan.datasets[0].prepare(say)
    has_truth, protocol = table.D is not None, plan.protocol
    if has_truth and table.counts is not None:
        protocol = replace(protocol, threshold=0.0)  # a label is ticked if it got any vote
    plan = replace(
        plan,
        protocol=protocol,
        methods=_usable(_with_first_steps(plan.methods) if has_truth else plan.methods, table, say),
        metrics=HEADLINE_METRICS if has_truth else LABEL_HEADLINE,
        description=f"Methods on {Path(path).name}: {_judged(table)}; nothing is tuned.",
    )
    return plan, table


def _with_first_steps(methods: tuple[MethodSpec, ...]) -> tuple[MethodSpec, ...]:
    """And the enhancers of pairs alone: what they recover, equal shares and the class prior too, is to be compared."""
    alone = {pair.estimator: replace(pair, name=pair.estimator, learner=None) for pair in methods if pair.learner}
    return (*methods, *alone.values())


def _some_unknown(table: PreparedTable) -> bool:
    return table.Y is not None and bool(np.isnan(table.Y).any())


def _usable(methods: tuple[MethodSpec, ...], table: PreparedTable, say: Say | None) -> tuple[MethodSpec, ...]:
    """Without methods that need every label, if some are unknown."""
    if not _some_unknown(table):
        return methods
    # The first step alone sees the labels; a learner sees the degrees that it recovered.
    usable = tuple(method for method in methods if find_estimator(method.estimator)().capabilities().unknown_labels)
    names = ", ".join(method.name for method in methods if method not in usable)
    if not usable:
        raise InputError(f"Some labels are unknown, and {names} cannot do without them; DLDL can.")
    if names:
        sentence = f"some labels are unknown, and what cannot do without them is left out: {names}."
        warnings.warn(sentence, UserWarning, stacklevel=3) if say is None else say(sentence)
    return usable


def _judged(table: PreparedTable) -> str:
    if table.D is None:
        known = ", of which some are unknown" if _some_unknown(table) else ""
        return f"0/1 labels{known}, judged by how likely labels held out are, and by each other, as there is no truth"
    if table.counts is not None:
        return "they see which labels got any vote, and are compared with the shares of the votes"
    return "they see which labels have a degree above 0.01, and are compared with the degrees"


def _method(written: str) -> tuple[str, dict[str, Any]]:
    """Name and table of a plan for ``DLDL``, ``GLLE`` or ``GLLE+SABFGS``."""
    first, *others = [find_estimator(part) for part in written.split("+")]
    if first.kind == "learner" or len(others) > 1 or any(other.kind != "learner" for other in others):
        raise ParameterError(f"{written!r} learns from no 0/1 labels; write ENHANCER+LEARNER, as UniformLE+SABFGS.")
    if first.kind == "joint" and not others:
        return first.__name__, {}
    learner = others[0].__name__ if others else _FOLLOWS
    return f"{first.__name__} + {learner}", {"estimator": first.__name__, "learner": learner}
