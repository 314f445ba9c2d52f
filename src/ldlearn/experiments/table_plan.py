"""A plan that compares methods on a table of the user."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from ldlearn._messages import check_choice
from ldlearn.base.discovery import find_estimator
from ldlearn.compose.method_names import make_predictor, method_name
from ldlearn.evaluation import TASKS, Record, Results
from ldlearn.evaluation.text_tables import describe_best
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.experiments.methods import MethodSpec, read_methods
from ldlearn.experiments.plan import Plan, Protocol, Selection
from ldlearn.experiments.sources import COUNTS, read_datasets
from ldlearn.experiments.splits import check_votes
from ldlearn.experiments.toml_table import Settings, TomlTable
from ldlearn.joint import DLDL
from ldlearn.metrics import HEADLINE_METRICS, LABEL_HEADLINE, get_metric
from ldlearn.tables import PreparedTable
from ldlearn.tables.files import OnMessage, issue_warning
from ldlearn.tables.labelled_table import describe_repeated_rows
from ldlearn.tables.table_labels import TableLabels

# Names of methods with parameters.
_VARIANTS: dict[str, tuple[str, Settings]] = {
    "FromClassifier votes": ("FromClassifier", {"link": "votes"}),
    "VoteShares Laplace": ("VoteShares", {"smoothing": 1.0}),
}
CLASSIFIERS = ("FromClassifier", "FromClassifier votes")
_CONSTANT_PREDICTORS = ("PriorLE+MeanLDL", "UniformLE+MeanLDL")
# The default for each meaning of 0: joint models, a plain classifier with both links, two steps,
# and constants.
_JOINT_METHODS = ("DLDL", "VoteLDL", *CLASSIFIERS)
_METHODS = {
    "none": (*_JOINT_METHODS, "PriorLE+SABFGS", "UniformLE+SABFGS", *_CONSTANT_PREDICTORS),
    "less": (*_JOINT_METHODS, "LP+SABFGS", *_CONSTANT_PREDICTORS),
}
# For counts of votes: joint models, learners of the shares, the best method for 0/1 labels.
_COUNT_METHODS = (
    "CountLDL", "VoteShares", "VoteShares Laplace", "SABFGS", "MLPLDL", "MeanLDL", "DLDL"
)  # fmt: skip
_COUNT_METRICS = ("cross_entropy", "intersection", "kl_divergence")


def plan_for_table(
    path: str,
    labels: str,
    *,
    methods: Sequence[str] | None = None,
    kind: str = "auto",
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
        Joint models, enhancers (a learner follows) and pairs ``ENHANCER+LEARNER``, and for counts
        learners; by default those that suit counts, or the meaning of 0.
    kind : {"auto", "votes"}, default="auto"
        What the labels are; whole numbers are counts of votes unless all are 0 or 1.
    zeros : {"none", "less"}, optional
        What a 0 means; see `ldlearn.DLDL`. None assumes "less" for counts of votes, else "none",
        and reports the mean number of positive labels.
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
    check_choice("kind", kind, ("auto", "votes"))
    if zeros is not None:
        check_choice("zeros", zeros, _METHODS)
    # Up to the first point, as in data.csv.gz; a name that begins with one leaves nothing.
    name = Path(path).name.partition(".")[0] or "table"
    options = TomlTable({"repeats": repeats, "seed": seed}, "protocol").get_options(Protocol)
    # Names are checked before a large table is read.
    for written in methods or ():
        _plan_entry(written, zeros)
    source = {"path": str(Path(path).resolve()), "preprocess": True, "labels": labels}
    for key, value in (columns or {}).items():
        if value is not None:
            source[key] = value
    if kind != "auto":
        source["kind"] = kind
    (dataset,) = read_datasets(TomlTable({"datasets": {name: source}}, ""), Path())
    table = dataset.prepare(on_message)
    if on_message is not None:
        _report_table(table, zeros, on_message)
    default = _METHODS[zeros or "none"]
    metrics: Sequence[str] = LABEL_HEADLINE
    if table.counts is not None:
        check_votes(table, name)
        default = _COUNT_METHODS
        metrics = _COUNT_METRICS
        options["rule"] = COUNTS
        zeros = zeros or "less"
    elif table.D is not None:
        metrics = HEADLINE_METRICS
    compared = _read_methods(methods or default, zeros, table)
    plan = Plan(
        name=name,
        datasets=(dataset,),
        methods=_usable_methods(compared, table, on_message or issue_warning),
        protocol=Protocol(**options),
        # Nothing is tuned.
        selection=Selection("logical", recovery="vote_likelihood", prediction="vote_likelihood"),
        metrics=tuple(metrics),
        description=f"Methods on {Path(path).name}: {_describe_labels(table)}; nothing is tuned.",
    )
    return plan, table


def _report_table(table: PreparedTable, zeros: str | None, on_message: OnMessage) -> None:
    """Report how a 0 is interpreted, unless that is given, and rows that repeat others."""
    if zeros is None and table.Y is not None:
        TableLabels(table.label_names, table.Y, None).report_zeros(DLDL(), on_message)
    for message in describe_repeated_rows(table.repeated_rows, table.n_samples):
        on_message(message)


def _read_methods(
    written: Sequence[str], zeros: str | None, table: PreparedTable
) -> list[MethodSpec]:
    entries = dict(_plan_entry(each, zeros) for each in written)
    found = {}
    for method in read_methods(TomlTable({"methods": entries}, "")):
        if method.kind == "learner" and table.counts is None:
            raise ParameterError(
                f"{method.name!r} learns from no 0/1 labels; write ENHANCER+LEARNER, as "
                "UniformLE+SABFGS."
            )
        found[method.name] = method
    # Where there is a truth, the enhancers of pairs are methods of their own, to compare what they
    # recover.
    for pair in list(found.values()):
        if pair.learner and table.D is not None:
            found[pair.estimator] = replace(pair, name=pair.estimator, learner=None)
    return list(found.values())


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
        return "fitted to half of the votes of each row, scored by votes that they have not seen"
    return "trained on which labels have a degree above 0.01, scored by the degrees"


def describe_ranking(plan: Plan, records: Sequence[Record]) -> list[str]:
    """For each task, the three best methods by the main metric, and how much the first two differ.

    Tasks without a score are left out.
    """
    metric = get_metric("intersection")
    caveat = ""
    if plan.metrics == LABEL_HEADLINE:
        metric = get_metric("vote_likelihood")
        caveat = "; a higher likelihood of 0/1 labels does not show better degrees"
    if plan.metrics == _COUNT_METRICS:
        metric = get_metric("cross_entropy")
    results = Results(records)
    sentences = []
    for task in TASKS:
        table = results.table(task, metric)
        if table is not None and table.ranked:
            sentences.append(f"{describe_best(results, table, plan.datasets[0].name)}{caveat}.")
    return sentences


def _plan_entry(written: str, zeros: str | None) -> tuple[str, Settings]:
    """Name and table of a plan for ``DLDL``, ``GLLE`` or ``GLLE+SABFGS``."""
    named, params = _VARIANTS.get(written, (written, {}))
    estimator = make_predictor(named, logical=False)
    steps = method_name(estimator).split("+")
    name = " + ".join(step.rpartition(":")[2] for step in steps)
    if written in _VARIANTS:
        name = written
    if zeros is not None and "zeros" in find_estimator(steps[0])().get_params():
        params = params | {"zeros": zeros}
    entry: Settings = {"estimator": steps[0], "params": params}
    if len(steps) > 1:
        entry["learner"] = steps[1]
    return name, entry
