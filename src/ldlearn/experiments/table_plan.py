"""A plan that compares methods on a table of the user."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from ldlearn.base.discovery import find_estimator
from ldlearn.compose.method_names import make_predictor, method_name
from ldlearn.evaluation import Record, Results
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.experiments.methods import MethodSpec
from ldlearn.experiments.plan import Plan
from ldlearn.experiments.toml_table import Settings
from ldlearn.joint import DLDL
from ldlearn.metrics import HEADLINE_METRICS, LABEL_HEADLINE, get_metric
from ldlearn.tables import PreparedTable
from ldlearn.tables.files import OnMessage, issue_warning
from ldlearn.tables.labelled_table import describe_repeated_rows
from ldlearn.tables.table_labels import TableLabels

_VOTE_LINK = "FromClassifier votes"  # with the link "votes"
CLASSIFIERS = ("FromClassifier", _VOTE_LINK)
_CONSTANT_PREDICTORS = ("PriorLE+MeanLDL", "UniformLE+MeanLDL")
# The default for each meaning of 0: joint models, a plain classifier with both links, two steps,
# and constants.
_JOINT_METHODS = ("DLDL", "VoteLDL", *CLASSIFIERS)
_METHODS = {
    "none": (*_JOINT_METHODS, "PriorLE+SABFGS", "UniformLE+SABFGS", *_CONSTANT_PREDICTORS),
    "less": (*_JOINT_METHODS, "LP+SABFGS", *_CONSTANT_PREDICTORS),
}


def plan_for_table(
    path: str,
    labels: str,
    *,
    methods: Sequence[str] | None = None,
    zeros: str | None = None,
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
    methods : sequence of str, optional
        Joint models, enhancers (a learner follows) and pairs ``ENHANCER+LEARNER``; by default those
        that suit the meaning of 0.
    zeros : {"none", "less"}, optional
        What a 0 means; see `ldlearn.DLDL`. None assumes "none" and reports the mean number of
        positive labels.
    repeats, seed : int
        Number and seed of shuffled splits into 60 % training, 20 % validation and 20 % test rows.
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
    source = {"path": str(Path(path).resolve()), "preprocess": True, "labels": labels}
    for key, value in (columns or {}).items():
        if value is not None:
            source[key] = value
    entries = [_plan_entry(written, zeros) for written in methods or _METHODS[zeros or "none"]]
    content = {
        "name": name,
        "protocol": {"repeats": repeats, "seed": seed},
        "selection": {"mode": "logical"},  # nothing is tuned
        "datasets": {name: source},
        "methods": dict(entries),
    }
    plan = Plan.from_dict(content)
    table = plan.datasets[0].prepare(on_message)
    if zeros is None and on_message is not None and table.Y is not None:
        TableLabels(table.label_names, table.Y, None).report_zeros(DLDL(), on_message)
    if on_message is not None:
        for message in describe_repeated_rows(table.repeated_rows, table.n_samples):
            on_message(message)
    compared = {method.name: method for method in plan.methods}
    metrics: Sequence[str] = LABEL_HEADLINE
    protocol = plan.protocol
    if table.D is not None:
        metrics = HEADLINE_METRICS
        if table.counts is not None:
            protocol = replace(protocol, threshold=0.0)  # a label with any vote is positive
        # The enhancers of pairs are methods of their own, to compare what they recover.
        for pair in plan.methods:
            if pair.learner:
                compared[pair.estimator] = replace(pair, name=pair.estimator, learner=None)
    plan = replace(
        plan,
        protocol=protocol,
        methods=_usable_methods(list(compared.values()), table, on_message or issue_warning),
        metrics=tuple(metrics),
        description=f"Methods on {Path(path).name}: {_describe_labels(table)}; nothing is tuned.",
    )
    return plan, table


def _usable_methods(
    methods: list[MethodSpec], table: PreparedTable, on_message: OnMessage
) -> tuple[MethodSpec, ...]:
    """The methods without those that need every label, if some are unknown."""
    if table.Y is None or not np.isnan(table.Y).any():
        return tuple(methods)
    usable = []
    left_out = []
    for method in methods:
        # Only the first step sees the labels; a learner sees recovered degrees.
        if get_tags(method.steps[0]()).unknown_labels:
            usable.append(method)
        else:
            left_out.append(method.name)
    names = ", ".join(left_out)
    if not usable:
        raise InputError(
            f"Some labels are unknown, and {names} cannot be fitted without them; DLDL can."
        )
    if names:
        problem = "some labels are unknown, and methods that need all of them are left out"
        on_message(f"{problem}: {names}.")
    return tuple(usable)


def _describe_labels(table: PreparedTable) -> str:
    if table.D is None:
        scored = "scored by the likelihood of held-out labels, which does not show better degrees"
        return f"0/1 labels, {scored}, and by agreement of methods"
    if table.counts is not None:
        return "trained on which labels got any vote, scored by the shares of the votes"
    return "trained on which labels have a degree above 0.01, scored by the degrees"


def describe_ranking(plan: Plan, records: Sequence[Record]) -> str:
    """The three highest scores of predictions on test rows, in a sentence.

    It is empty if no method has finished.
    """
    metric = get_metric("intersection")
    caveat = ""
    if plan.metrics == LABEL_HEADLINE:
        metric = get_metric("vote_likelihood")
        caveat = "; a higher likelihood of 0/1 labels does not show better degrees"
    table = Results(records).table("prediction", metric)
    if table is None or not table.ranked:
        return ""
    shown = []
    for method in table.ranked[:3]:
        score = table.score(method.name, plan.datasets[0].name)
        shown.append(f"{method.name} {score.mean:.3f}")
    return f"Highest {metric.title.lower()} on test rows: {', '.join(shown)}{caveat}."


def _plan_entry(written: str, zeros: str | None) -> tuple[str, Settings]:
    """Name and table of a plan for ``DLDL``, ``GLLE`` or ``GLLE+SABFGS``."""
    estimator = make_predictor(written.removesuffix(" votes"), logical=False)
    if estimator.kind == "learner":
        raise ParameterError(
            f"{written!r} learns from no 0/1 labels; write ENHANCER+LEARNER, as UniformLE+SABFGS."
        )
    steps = method_name(estimator).split("+")
    name = " + ".join(step.rpartition(":")[2] for step in steps)
    params = {}
    if written == _VOTE_LINK:
        name = _VOTE_LINK
        params["link"] = "votes"
    if zeros is not None and "zeros" in find_estimator(steps[0])().get_params():
        params["zeros"] = zeros
    entry: Settings = {"estimator": steps[0], "params": params}
    if len(steps) > 1:
        entry["learner"] = steps[1]
    return name, entry
