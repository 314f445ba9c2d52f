"""A plan that compares methods on a table of the user."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn.base.discovery import estimator_name, find_estimator
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.experiments.methods import MethodSpec
from ldlearn.experiments.plan import Plan
from ldlearn.learning import SABFGS
from ldlearn.metrics import HEADLINE_METRICS, LABEL_HEADLINE
from ldlearn.tables import PreparedTable
from ldlearn.tables.source import OnMessage

# The default: DLDL, the vote model, a plain classifier, two steps, and constants as baselines.
METHODS = (
    "DLDL", "VoteLDL", "FromClassifier", "PriorLE+SABFGS", "UniformLE+SABFGS", "PriorLE+MeanLDL", "UniformLE+MeanLDL"
)  # fmt: skip


def plan_for_table(
    path: str,
    labels: str,
    *,
    methods: Sequence[str] = METHODS,
    repeats: int = 5,
    seed: int = 0,
    columns: Mapping[str, Any] | None = None,
    on_message: OnMessage | None = None,
) -> tuple[Plan, PreparedTable]:
    """A plan that compares methods on a table, with nothing tuned, and the prepared table.

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
    on_message : callable, optional
        Receives messages about unusual properties of the table; by default they are warnings.

    Returns
    -------
    plan : Plan
    table : PreparedTable
    """
    # Up to the first point, as in data.csv.gz; a name that begins with one leaves nothing.
    name = Path(path).name.partition(".")[0] or "table"
    given = {key: value for key, value in (columns or {}).items() if value is not None}
    source = {"path": str(Path(path).resolve()), "preprocess": True, "labels": labels, **given}
    plan = Plan.from_dict(
        {
            "name": name,
            "protocol": {"repeats": repeats, "seed": seed},
            "selection": {"mode": "logical"},  # nothing is tuned
            "datasets": {name: source},
            "methods": dict(map(_method, methods)),
        }
    )
    table = plan.datasets[0].prepare(on_message)
    has_truth, protocol = table.D is not None, plan.protocol
    if has_truth and table.counts is not None:
        protocol = replace(protocol, threshold=0.0)  # a label with any vote is positive
    plan = replace(
        plan,
        protocol=protocol,
        methods=_usable(_with_first_steps(plan.methods) if has_truth else plan.methods, table, on_message),
        metrics=HEADLINE_METRICS if has_truth else LABEL_HEADLINE,
        description=f"Methods on {Path(path).name}: {_describe_labels(table)}; nothing is tuned.",
    )
    return plan, table


def _with_first_steps(methods: tuple[MethodSpec, ...]) -> tuple[MethodSpec, ...]:
    """Add the enhancers of pairs as methods of their own, to compare what they recover."""
    alone = {pair.estimator: replace(pair, name=pair.estimator, learner=None) for pair in methods if pair.learner}
    return (*methods, *alone.values())


def _usable(
    methods: tuple[MethodSpec, ...], table: PreparedTable, on_message: OnMessage | None
) -> tuple[MethodSpec, ...]:
    """The methods without those that need every label, if some are unknown."""
    if table.Y is None or not np.isnan(table.Y).any():
        return methods
    # Only the first step sees the labels; a learner sees recovered degrees.
    usable = tuple(method for method in methods if find_estimator(method.estimator)().capabilities().unknown_labels)
    names = ", ".join(method.name for method in methods if method not in usable)
    if not usable:
        raise InputError(f"Some labels are unknown, and {names} cannot be fitted without them; DLDL can.")
    if names:
        message = f"some labels are unknown, and methods that need all of them are left out: {names}."
        warnings.warn(message, UserWarning, stacklevel=3) if on_message is None else on_message(message)
    return usable


def _describe_labels(table: PreparedTable) -> str:
    if table.D is None:
        return "0/1 labels, scored by the likelihood of held-out labels and by agreement of methods"
    if table.counts is not None:
        return "trained on which labels got any vote, scored by the shares of the votes"
    return "trained on which labels have a degree above 0.01, scored by the degrees"


def _method(written: str) -> tuple[str, dict[str, Any]]:
    """Name and table of a plan for ``DLDL``, ``GLLE`` or ``GLLE+SABFGS``."""
    first, *others = [find_estimator(part) for part in written.split("+")]
    if first.kind == "learner" or len(others) > 1 or any(other.kind != "learner" for other in others):
        raise ParameterError(f"{written!r} learns from no 0/1 labels; write ENHANCER+LEARNER, as UniformLE+SABFGS.")
    if first.kind == "joint" and not others:
        return first.__name__, {"estimator": estimator_name(first)}
    learner = others[0] if others else SABFGS
    steps = {"estimator": estimator_name(first), "learner": estimator_name(learner)}
    return f"{first.__name__} + {learner.__name__}", steps
