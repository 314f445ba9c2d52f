"""The methods of a plan: an estimator with parameters and a grid, perhaps with a learner."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

from sklearn.utils import get_tags

from ldlearn.base import KINDS, LabelEstimator
from ldlearn.base.discovery import all_estimators, external_methods, find_estimator
from ldlearn.base.errors import raise_input_errors
from ldlearn.compose import EnhanceThenLearn, FromDistributions
from ldlearn.evaluation import TASKS, Task
from ldlearn.exceptions import ParameterError
from ldlearn.experiments.toml_table import Settings, TomlTable, describe_spec, option

_ENHANCER, _LEARNER, _JOINT = KINDS
_TWO_STEP = "two-step"
# The recovery of a pair would only repeat the enhancer's own scores.
_TASKS: dict[str, tuple[Task, ...]] = {
    _ENHANCER: TASKS[:1],
    _LEARNER: TASKS[1:],
    _JOINT: TASKS,
    _TWO_STEP: TASKS[1:],
}
# A plan itself runs two steps and hides the true degrees.
_DONE_BY_PLANS = (EnhanceThenLearn, FromDistributions)
_SIZES = {"n": "n_train", "m": "n_features", "c": "n_labels"}  # as grids and as records name them
# To check parameters before the data are read: their ranges do not depend on sizes.
_ANY_SIZES = {"n_train": 100, "n_features": 10, "n_labels": 5}
_MULTIPLE = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*\*\s*([nmc])\s*\Z")


@cache
def estimators() -> dict[str, type[LabelEstimator]]:
    """What the methods of a plan can be made of, by name."""
    found = dict(all_estimators())
    for cls in _DONE_BY_PLANS:
        del found[cls.__name__]
    return found


@dataclass(frozen=True)
class MethodSpec:
    """A method of a plan.

    Attributes
    ----------
    name : str
    estimator : str
        Enhancer, joint model, or learner; a learner is trained on the true distributions, or on the
        shares of votes where methods see counts. A method of another package is
        ``package.module:Class``, or the name of its entry point.
    params, grid : dict
        Fixed parameters, and lists of values to select from. A value may be ``"default"`` (None,
        the estimator's own rule) or a multiple of a size of the training part: ``"0.03*m"`` with n
        rows, m features, c labels.
    learner, learner_params, learner_grid
        A learner that is trained on what the estimator recovered.
    search : {"joint", "stepwise"}
        How such a pair is tuned: over the product of both grids, or the estimator by recovery
        first.
    """

    name: str
    estimator: str
    params: Settings = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)
    learner: str | None = None
    learner_params: Settings = field(default_factory=dict)
    learner_grid: dict[str, list[Any]] = field(default_factory=dict)
    search: str = option("joint", valid=("joint", "stepwise"))

    def to_dict(self) -> Settings:
        """The table of a plan that describes it."""
        return describe_spec(asdict(self))

    @property
    def steps(self) -> list[type[LabelEstimator]]:
        """Its estimator and, of a pair, the learner."""
        return [find_estimator(name) for name in (self.estimator, self.learner) if name]

    @property
    def kind(self) -> str:
        """``"enhancer"``, ``"learner"``, ``"joint"`` or ``"two-step"``."""
        return _TWO_STEP if self.learner else self.steps[0].kind

    @property
    def is_baseline(self) -> bool:
        """Whether every step of it is a baseline."""
        return all(step.is_baseline for step in self.steps)

    @property
    def path_params(self) -> tuple[str, ...]:
        """The parameters of its first step whose settings are fitted in one go."""
        return self.steps[0].path_params

    @property
    def takes_sparse(self) -> bool:
        """Whether every step of it takes sparse features."""
        return all(get_tags(step()).input_tags.sparse for step in self.steps)

    @property
    def takes_counts(self) -> bool:
        """Whether its first step takes counts of votes."""
        return bool(get_tags(self.steps[0]()).counts)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What it is scored for."""
        return _TASKS[self.kind]

    @property
    def is_stepwise(self) -> bool:
        """Whether a pair selects the parameters of its first step by recovery alone."""
        return self.kind == _TWO_STEP and self.search == "stepwise"


def grid_points(grid: Mapping[str, list[Any]]) -> list[Settings]:
    """All combinations, the last key running fastest; one empty point for an empty grid."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def resolve_params(params: Settings, sizes: Mapping[str, int]) -> Settings:
    """Numbers for ``"0.03*m"`` and None for ``"default"``.

    Parameters
    ----------
    params : mapping
    sizes : mapping
        Of `ldlearn.experiments.splits.DataSplit`.

    Examples
    --------
    >>> resolve_params({"beta": "default", "gamma": "0.5*m", "init": "pseudo"}, {"n_features": 4})
    {'beta': None, 'gamma': 2.0, 'init': 'pseudo'}
    """
    return {key: _resolve_value(value, sizes) for key, value in params.items()}


def _resolve_value(value: Any, sizes: Mapping[str, int]) -> Any:
    if value == "default":
        return None
    multiple = _MULTIPLE.match(str(value))
    if multiple is None:
        return value
    factor, size = multiple.groups()
    # Counts of clusters or neighbours stay integers.
    number = int(factor) if factor.isdigit() else float(factor)
    return number * sizes[_SIZES[size]]


def build_estimator(name: str, params: Settings, seed: int | None = None) -> Any:
    """An estimator by name; it gets the seed if it has a ``random_state`` that is not set."""
    estimator = find_estimator(name)(**params)
    own = estimator.get_params(deep=False).keys() - params.keys()
    if seed is not None and "random_state" in own:
        estimator.set_params(random_state=seed)
    return estimator


def read_methods(plan: TomlTable) -> tuple[MethodSpec, ...]:
    """The ``methods`` and ``discover`` tables of a plan."""
    named = plan.get_table("methods")
    tables = {name: named.get_table(name) for name in named.entries()}
    methods = {}
    if "discover" in plan:
        for method in _discover_methods(plan.get_table("discover")):
            methods[method.name] = method
    # Methods named in the plan replace discovered ones.
    for name, table in tables.items():
        methods[name] = _read_method(name, table, tables)
    if not methods:
        raise plan.error("methods", "name at least one method, for instance [methods.DLDL].")
    return tuple(methods.values())


def refuse_imports(plan: TomlTable) -> None:
    """Refuse a plan that names code outside this library, before any of it is imported."""
    named = plan.get_table("methods")
    for name in named.entries():
        table = named.get_table(name)
        for key, default in (("estimator", name), ("learner", "")):
            path = table.get(key, default)
            if ":" in path:
                raise table.error(
                    key,
                    f"{path!r} is code outside ldlearn that would be imported and run; if you "
                    "trust it, use --trust-plan (trust_plan=True).",
                )


def _inherit_settings(table: TomlTable, others: Mapping[str, TomlTable]) -> TomlTable:
    """With ``like = "other method"``, estimator, params and grid of that method are defaults."""
    model = table.get("like", valid=others, what="method")
    if model is None:
        return table
    if "like" in others[model]:
        raise table.error("like", f"{model!r} is itself like another method; name that one.")
    # Not its learner: the usual purpose is the same enhancer with another learner.
    settings = {"estimator": model} | others[model].get_present(("estimator", "params", "grid"))
    settings |= table.entries()
    del settings["like"]
    return TomlTable(settings, table.path)


def _published_settings(name: str, table: TomlTable) -> TomlTable:
    """The params and grid that ``grid = "paper"`` stands for.

    They are those of the DLDL paper for the estimator; own params come first.
    """
    if not isinstance(table.get_raw("grid"), str):
        return table
    table.get("grid", valid=["paper"])
    plan = files("ldlearn.experiments").joinpath("plans", "paper.toml").read_text(encoding="utf-8")
    published = tomllib.loads(plan)["methods"]
    estimator = table.get("estimator", name)
    for key in (f"{estimator} (paper)", f"{estimator} on truth (paper)", estimator):
        settings = published.get(key)
        if settings:
            own = table.entries()
            params = settings.get("params", {}) | own.get("params", {})
            grid = settings.get("grid", {})
            return TomlTable(own | {"params": params, "grid": grid}, table.path)
    raise table.error(
        "grid", f"the paper states none for {estimator}; remove it, or write a table of lists."
    )


def _read_method(name: str, table: TomlTable, others: Mapping[str, TomlTable]) -> MethodSpec:
    table = _published_settings(name, _inherit_settings(table, others))
    estimator = _read_estimator(table, "estimator", name)
    learner = _read_estimator(table, "learner")
    if learner is not None:
        if find_estimator(learner).kind != _LEARNER:
            table.check_name("learner", learner, _learners())
        if find_estimator(estimator).kind == _LEARNER:
            raise table.error(
                "learner",
                f"{estimator} is itself a learner and recovers nothing to train {learner} on.",
            )
    method = MethodSpec(
        name=name,
        estimator=estimator,
        params=_read_settings(table, "params", estimator),
        grid=_read_settings(table, "grid", estimator, lists=True),
        learner=learner,
        learner_params=_read_settings(table, "learner_params", learner),
        learner_grid=_read_settings(table, "learner_grid", learner, lists=True),
        **table.get_options(MethodSpec),
    )
    table.check_all_read()
    return method


def _read_estimator(table: TomlTable, key: str, default: str | None = None) -> Any:
    """The name of an estimator of this library or of another package; None if there is none."""
    name = table.get(key, default)
    if name is None:
        return None
    if ":" not in name:
        table.check_name(key, name, [*estimators(), *external_methods()])
    try:
        find_estimator(name)
    except ParameterError as error:
        raise table.error(key, str(error)) from None
    return name


def _learners() -> list[str]:
    return [name for name, cls in estimators().items() if cls.kind == _LEARNER]


def _read_settings(
    table: TomlTable, key: str, estimator: str | None, *, lists: bool = False
) -> Settings:
    """Parameters of an estimator: values, or lists of values to select from."""
    settings = table.get_table(key)
    if estimator is None:
        for name in settings.entries():
            raise settings.error(
                name, 'there is no learner with parameters; add learner = "..." or remove it.'
            )
        return {}
    cls = find_estimator(estimator)
    valid = cls().get_params(deep=False)
    for name, value in settings.entries(valid, f"{estimator} parameter").items():
        if lists and not (isinstance(value, list) and value):
            raise settings.error(name, f"expected a list of values to select from, got {value!r}.")
        for each in value if lists else [value]:
            try:
                with raise_input_errors():
                    cls(**resolve_params({name: each}, _ANY_SIZES))._validate_params()
            except ParameterError as error:
                raise settings.error(name, str(error)) from None
    return settings.entries()


def _discover_methods(table: TomlTable) -> Iterator[MethodSpec]:
    kinds = table.get_texts("kinds", KINDS, KINDS, "kind")
    followers = table.get_texts("then", (), _learners(), _LEARNER)
    exclude = table.get_texts("exclude", (), estimators(), "estimator")
    # Of each estimator, wherever it is used.
    params = table.get_table("params")
    grids = table.get_table("grids")
    params.entries(estimators(), "estimator")
    grids.entries(estimators(), "estimator")
    steps = {}
    for name in estimators():
        grid = _read_settings(grids, name, name, lists=True)
        steps[name] = (name, _read_settings(params, name, name), grid)
    table.check_all_read()
    for kind in kinds:
        for name, cls in estimators().items():
            if cls.kind != kind or name in exclude:
                continue
            yield MethodSpec(f"{name} on truth" if kind == _LEARNER else name, *steps[name])
            for learner in followers if kind == _ENHANCER else ():
                yield MethodSpec(f"{name} + {learner}", *steps[name], *steps[learner])
