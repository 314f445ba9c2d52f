"""Plans: data sets, methods, protocol and selection of an experiment, read from TOML."""

import os
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Self

from ldlearn._messages import suggest_name
from ldlearn._optional_imports import import_optional
from ldlearn.datasets.dataset import parse_shares
from ldlearn.evaluation.json_types import parse_toml
from ldlearn.exceptions import InputError
from ldlearn.experiments.methods import MethodSpec, read_methods, refuse_imports
from ldlearn.experiments.sources import Binarisation, DatasetSpec, read_datasets
from ldlearn.experiments.toml_table import PlanError, TomlTable, option
from ldlearn.metrics import HEADLINE_METRICS, LABEL_METRICS, METRICS
from ldlearn.tables.files import FilePath

_SHIPPED = files("ldlearn.experiments") / "plans"


@dataclass(frozen=True)
class Protocol(Binarisation):
    """How rows are split, scaled and turned into logical labels.

    Attributes
    ----------
    split : {"repeats", "k-fold"}
        ``repeats`` shuffled splits into ``shares``, or ``folds`` folds with the share
        ``validation`` of each training part set aside, all of it ``repeats`` times.
    repeats, folds : int
    shares : tuple of float
        Training, validation and test part.
    validation : float
    seed : int
        Repeat r shuffles with ``numpy.random.default_rng(seed + r)``.
    scaling : {"standard", "minmax", "none"}
        Fitted on the training part.
    rule, threshold, total, k
        Of `ldlearn.core.binarize`; or ``rule = "votes"``: each of ``k`` raters votes for one label,
        drawn from the degrees anew for each repeat, and the labels with a vote are positive; or
        ``rule = "counts"``: methods see counts of votes, see `ldlearn.experiments.splits`.
    """

    split: str = option("repeats", valid=("repeats", "k-fold"))
    repeats: int = option(10, kind=int, minimum=1)
    folds: int = option(10, kind=int, minimum=2)
    shares: tuple[float, ...] = (0.6, 0.2, 0.2)
    validation: float = option(0.25, kind=float, maximum=0.9)  # something must be left to train on
    seed: int = option(0, kind=int, minimum=0)
    scaling: str = option("standard", valid=("standard", "minmax", "none"))

    @property
    def n_repeats(self) -> int:
        """Number of (training, validation, test) splits."""
        return self.repeats * (self.folds if self.split == "k-fold" else 1)

    def for_dataset(self, dataset: DatasetSpec) -> Self:
        """The protocol with the rule of a data set, if that has its own."""
        return replace(self, **dataset.binarisation)


@dataclass(frozen=True)
class Selection:
    """Model selection: how hyperparameters are selected from the grids.

    Attributes
    ----------
    mode : {"oracle", "logical"}
        Compare with the true degrees of the validation rows, or only with their 0/1 labels. For
        metrics between distributions, the latter are replaced by equal degrees of the positive
        labels.
    recovery, prediction : str
        Names of the metrics that select, for the two tasks separately.
    recovery_rows : {"validation", "training"}
        Rows that select hyperparameters for recovery under ``"oracle"``. Recovery is scored on the
        training rows, so ``"validation"`` keeps selection and scores apart: a method that cannot
        enhance rows it was not fitted on is fitted to the validation rows too, with the same
        hyperparameters. ``"training"`` selects by the true degrees that recovery is scored with,
        and so gives the best score of the grid.
    per_metric : bool
        Whether every metric selects for itself, on the same rows; otherwise ``recovery`` and
        ``prediction`` select for all metrics.
    budget : int or None
        Grid points that a method tries at most; see `ldlearn.experiments.cells.draw_grid_indices`.
    """

    mode: str = option("oracle", valid=("oracle", "logical"))
    recovery: str = option("chebyshev")
    prediction: str = option("chebyshev")
    recovery_rows: str = option("validation", valid=("validation", "training"))
    per_metric: bool = option(False, kind=bool)
    # Two at least: a pair that is selected step by step needs a point for each step.
    budget: int | None = option(None, kind=int, minimum=2)

    def metrics_for(self, task: str) -> list[str]:
        """Names of the metrics that select hyperparameters for a task.

        A record shows those selected by the first.
        """
        names = [self.recovery if task == "recovery" else self.prediction]
        if self.per_metric:
            names += METRICS
            if self.mode == "logical":
                names += LABEL_METRICS
        return list(dict.fromkeys(names))


@dataclass(frozen=True)
class Plan:
    """An experiment: every data set with every method and repeat.

    A plan file is TOML::

        # Names, or a table for each: rows, path, generator, own rule.
        datasets = ["vader_tweets"]
        subject = "DLDL"                     # the method that a report compares the others with
        # Names of data sets and methods in the tables of a report.
        display_names = { vader_tweets = "VADER" }

        [protocol]
        repeats = 10                         # or split = "k-fold" with folds and validation
        shares = [0.6, 0.2, 0.2]
        # rule = "threshold", "cumulative" (total), "top-k", "votes" (k) or "counts" (k)
        threshold = 0.01

        [selection]
        mode = "oracle"                      # or "logical", which sees 0/1 labels only
        recovery = "chebyshev"
        prediction = "chebyshev"
        # Or "training": recovery is selected by the degrees it is scored with.
        recovery_rows = "validation"
        per_metric = false                   # true: every metric selects for itself
        budget = 24                          # points that are drawn from grids that have more

        [methods.DLDL]
        grid = { beta = ["default", 1.0], gamma = ["0.01*m", "0.1*m"] }

        [methods."GLLE + SABFGS"]
        estimator = "GLLE"
        grid = { lam = [0.01, 0.1] }         # or "paper": what the DLDL paper states
        learner = "SABFGS"
        learner_grid = { l2 = [1.0, 10.0] }

        [methods."SABFGS on truth"]
        estimator = "SABFGS"                 # a learner alone is trained on the true distributions

    A method may be ``like`` another, and ``[discover]`` (kinds, then, exclude, params, grids) adds
    every method of the library.

    Attributes
    ----------
    name, description : str
    datasets : tuple of DatasetSpec
    methods : tuple of MethodSpec
    protocol : Protocol
    selection : Selection
    metrics : tuple of str
        What tables show first; metrics of ordered labels are shown only if they are named. Records
        hold all metrics, so that changing this needs no new run.
    subject : str
        The method that a report compares the others with; if empty, the first that is no baseline.
    display_names : dict of str to str
        Names of methods and data sets in the tables that a report writes as files.
    """

    name: str
    datasets: tuple[DatasetSpec, ...]
    methods: tuple[MethodSpec, ...]
    protocol: Protocol = Protocol()
    selection: Selection = Selection()
    metrics: tuple[str, ...] = HEADLINE_METRICS
    description: str = ""
    subject: str = ""
    display_names: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_dict(
        cls, content: dict[str, Any], folder: Path | None = None, *, trusted: bool = True
    ) -> Self:
        """Check the content of a plan file.

        Parameters
        ----------
        content : dict
            As read from TOML.
        folder : Path, optional
            What relative paths of data files are relative to.
        trusted : bool, default=True
            Whether methods that it names as ``package.module:Class`` are imported; otherwise they
            are refused.

        Raises
        ------
        PlanError
            Its message begins with the key that is wrong.
        """
        table = TomlTable(content, "")
        if not trusted:
            refuse_imports(table)
        methods = read_methods(table)
        subject = table.get("subject", "")
        if subject:  # a resolved plan has subject = "" where it has none
            table.check_name("subject", subject, [method.name for method in methods], "method")
        metrics = table.get_texts("metrics", valid={**METRICS, **LABEL_METRICS}, what="metric")
        plan = cls(
            name=table.get("name", "unnamed"),
            description=table.get("description", ""),
            subject=subject,
            datasets=read_datasets(table, folder or Path()),
            methods=methods,
            protocol=_read_protocol(table.get_table("protocol")),
            selection=_read_selection(table.get_table("selection")),
            metrics=tuple(dict.fromkeys(metrics)) or HEADLINE_METRICS,
        )
        if plan.selection.per_metric and plan.selection.mode == "oracle":
            for name in LABEL_METRICS:
                if name in plan.metrics:
                    raise table.error(
                        "metrics",
                        f'{name} selects for itself only with mode = "logical"; leave it out.',
                    )
        names = table.get_table("display_names")
        known = [dataset.name for dataset in plan.datasets]
        known += [method.name for method in plan.methods]
        for name in names.entries(known, "data set or method"):
            plan.display_names[name] = names.get(name)
        table.check_all_read()
        return plan

    def to_dict(self) -> dict[str, Any]:
        """The resolved plan: what `from_dict` reads, with every method and default written out."""
        return asdict(self) | {
            "datasets": {dataset.name: dataset.to_dict() for dataset in self.datasets},
            "methods": {method.name: method.to_dict() for method in self.methods},
            "metrics": list(self.metrics),
        }

    def to_toml(self) -> str:
        """The resolved plan as a file that can be run again."""
        tomli_w = import_optional("tomli_w", "experiments", "Plans")
        text = tomli_w.dumps(_without_none(self.to_dict()))
        try:
            text.encode()
        except UnicodeEncodeError:
            raise PlanError(
                "datasets: the name of a file or folder is no UTF-8; rename it."
            ) from None
        return text


def shipped_plans() -> list[str]:
    """Names of the plans that come with the package.

    Examples
    --------
    >>> shipped_plans()
    ['ablation', 'baselines', 'paper', 'quick']
    """
    names = []
    for entry in _SHIPPED.iterdir():
        name = Path(entry.name)
        if name.suffix == ".toml":
            names.append(name.stem)
    return sorted(names)


def load_plan(plan: FilePath, *, trusted: bool = True) -> Plan:
    """Read a plan from a file, or a shipped one by name.

    A plan is code: methods that it names as ``package.module:Class`` are imported.

    Parameters
    ----------
    plan : str or path-like
        ``"quick"``, ``"paper"``, ... (see `shipped_plans`) or the path of a TOML file.
    trusted : bool, default=True
        Whether such methods are imported; otherwise a plan that names any is refused.

    Returns
    -------
    Plan

    Raises
    ------
    PlanError
        Naming the file and the key that is wrong.
    """
    path = Path(plan)
    name = os.fspath(plan)
    shipped = shipped_plans()
    file: Path | Traversable = path
    if not path.is_file():
        if name not in shipped:
            advice = suggest_name(name, shipped)
            raise PlanError(f"There is no plan file and no shipped plan {name!r}; {advice}")
        file = _SHIPPED / f"{name}.toml"
    try:
        tables = parse_toml(file.read_bytes())
    except InputError as error:
        raise PlanError(f"{path.name} is not valid TOML: {error}.") from None
    try:
        # The name of the file, unless the plan has one of its own.
        return Plan.from_dict({"name": path.stem} | tables, path.parent, trusted=trusted)
    except PlanError as error:
        raise PlanError(f"{path.name}: {error}") from None


def _without_none(content: Any) -> Any:
    """The content without None, which TOML lacks."""
    if not isinstance(content, dict):
        return content
    return {key: _without_none(value) for key, value in content.items() if value is not None}


def _read_protocol(table: TomlTable) -> Protocol:
    # Folds already are repeats: ten times ten of them only if a plan asks for that.
    default = Protocol(repeats=1) if table.get_raw("split") == "k-fold" else Protocol()
    shares = _read_shares(table, default.shares)
    protocol = replace(default, shares=shares, **table.get_options(Protocol))
    if protocol.rule in ("top-k", "votes") and protocol.k is None:
        raise table.error(
            "k",
            f'rule = "{protocol.rule}" needs k, the number of positive labels or of votes of a '
            "row.",
        )
    table.check_all_read()
    return protocol


def _read_shares(table: TomlTable, default: tuple[float, ...]) -> tuple[float, ...]:
    given = table.get_raw("shares", list(default))
    try:
        shares = parse_shares(given)
    except (ValueError, TypeError):
        shares = ()
    if len(shares) != 3 or shares[0] == 0:
        raise table.error(
            "shares", f'expected three shares such as [0.6, 0.2, 0.2] or "60/20/20", got {given!r}.'
        )
    return shares


def _read_selection(table: TomlTable) -> Selection:
    options = table.get_options(Selection)
    table.check_all_read()
    metrics = [*METRICS]
    if options.get("mode") == "logical":
        metrics += LABEL_METRICS
        # Without true degrees the same likelihood selects and scores.
        metric = options.setdefault("prediction", "vote_likelihood")
        for key, only in (("recovery", metric), ("recovery_rows", "validation")):
            if options.setdefault(key, only) != only:
                raise table.error(
                    key,
                    'with mode = "logical" the predictions it leads to select recovery; name '
                    "only prediction.",
                )
    selection = Selection(**options)
    table.check_name("recovery", selection.recovery, metrics, "metric")
    table.check_name("prediction", selection.prediction, metrics, "metric")
    return selection
