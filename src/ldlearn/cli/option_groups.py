"""Groups of options: a parameter of a command that is a dataclass stands for its fields.

The fields are declared by `ldlearn.tables.options.cli_option`.
``Annotated[Group, {"a", "b"}]`` stands
for these two fields only; the others keep their defaults.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import Parameter, Signature, signature
from math import nan
from typing import Annotated, Any, get_type_hints

from typer import BadParameter, Option


def fields_except(group: type, *left_out: str) -> set[str]:
    """The names of the fields of a group without some."""
    return {each.name for each in fields(group)}.difference(left_out)


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is a dataclass by its options, which is what typer takes."""
    types = get_type_hints(command, include_extras=True)
    groups = {}
    parameters = []
    for name, parameter in signature(command).parameters.items():
        group = getattr(types[name], "__origin__", types[name])
        if is_dataclass(group):
            only = getattr(types[name], "__metadata__", [None])[0]
            groups[name] = (group, only)
            parameters += _group_parameters(group, only)
        else:
            parameters.append(
                parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=types[name])
            )

    def run(**given: Any) -> None:
        for name, (group, only) in groups.items():
            given[name] = _make_group(group, only, given)
        command(**given)

    # What is required comes first.
    parameters.sort(key=lambda parameter: parameter.default is not Parameter.empty)
    # typer reads the signature for names and defaults, and the annotations for types.
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = command.__doc__
    return run


def _group_parameters(group: Any, only: set[str] | None) -> list[Parameter]:
    types = get_type_hints(group)
    parameters = []
    for each in fields(group):
        if is_dataclass(types[each.name]):
            parameters += _group_parameters(types[each.name], only)
        elif each.metadata and (only is None or each.name in only):
            parameters.append(_make_parameter(each, types[each.name]))
    return parameters


def _make_parameter(each: Field[Any], kind: Any) -> Parameter:
    settings = dict(each.metadata)
    flags = settings.pop("flags") or ("--" + each.name.replace("_", "-"),)
    default = Parameter.empty if each.default is MISSING else each.default
    # A flag that is on by default is turned off by its option.
    if default is True:
        default = False
        settings["callback"] = _negate
    if each.name == "blank":
        settings["parser"] = _parse_blank
    # Columns are selected by one text on the command line.
    if kind not in (bool, int | None, float | None):
        kind = str | None
    annotation = Annotated[kind, Option(*flags, show_default=False, **settings)]
    return Parameter(each.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _negate(value: bool) -> bool:
    return not value


def _parse_blank(text: str) -> float:
    """The value of empty label cells."""
    values = {"0": 0, "nan": nan}
    if text not in values:
        raise BadParameter(f"{text!r} is neither 0 nor nan (unknown).", param_hint="--blank")
    return values[text]


def _make_group(group: Any, only: set[str] | None, given: dict[str, Any]) -> Any:
    """An object of the group; what it takes is removed from what was given."""
    types = get_type_hints(group)
    values = {}
    for each in fields(group):
        if is_dataclass(types[each.name]):
            values[each.name] = _make_group(types[each.name], only, given)
        elif each.name in given and (only is None or each.name in only):
            values[each.name] = given.pop(each.name)
    return group(**values)
