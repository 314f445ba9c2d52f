"""Sphinx extension: the API reference, written from what the packages export. A new method needs no
line here."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import getdoc, isroutine
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

# In the order of the layers, from what users meet first.
PACKAGES = (
    "uncertainty",
    "tables",
    "metrics",
    "datasets",
    "dask",
    "experiments",
    "evaluation",
    "reporting",
    "core",
    "base",
)
KINDS = {
    "joint": "Joint models: 0/1 labels in, degrees and a predictor out",
    "enhancer": "Enhancers: degrees for the training rows",
    "learner": "Learners: from distributions to a predictor",
}
# What a page of a class shows beside its docstring.
_MEMBERS = [
    "   :members:",
    "   :inherited-members: BaseEstimator, tuple, Exception, ValueError, UserWarning",
    "   :exclude-members: set_fit_request, set_predict_request, set_score_request, "
    "get_metadata_routing",
    "   :show-inheritance:",
]


def write_pages(folder: Path) -> None:
    """Write the index, a page of estimators, a page for each package, and one for each thing that
    these list.

    autosummary would write the last of them too, and look up the members of every class for it
    twice.
    """
    (folder / "generated").mkdir(parents=True, exist_ok=True)
    pages = {
        "estimators": _estimators(),
        **{package: _package(package) for package in PACKAGES},
        "index": _index(),
    }
    files = {folder / f"{page}.rst": text for page, text in pages.items()}
    names = re.findall(r"^   (ldlearn\.[\w.]+)$", "\n".join(pages.values()), re.MULTILINE)
    files |= {folder / "generated" / f"{name}.rst": _entry(name) for name in names}
    for path, text in files.items():
        _write(path, text)
    for path in set(folder.rglob("*.rst")) - set(files):  # of an earlier version
        path.unlink()


def _index() -> str:
    lines = [_title("Reference"), "All public classes and functions, by package.", ""]
    lines += [
        ".. toctree::",
        "   :maxdepth: 1",
        "",
        "   estimators",
        *(f"   {package}" for package in PACKAGES),
    ]
    return "\n".join(lines)


def _estimators() -> str:
    from ldlearn import all_estimators

    lines = [
        _title("Estimators"),
        "Import them from ``ldlearn``; the command ``ldlearn methods`` lists them.",
        "",
    ]
    for kind, heading in KINDS.items():
        names = [f"ldlearn.{name}" for name, _ in all_estimators(kind)]
        lines += [heading, "-" * len(heading), "", *_summary(names)]
    lines += [
        "Functions",
        "---------",
        "",
        *_summary(["ldlearn.all_estimators", *_functions("joint")]),
    ]
    return "\n".join(lines)


def _functions(package: str) -> list[str]:
    module = import_module(f"ldlearn.{package}")
    return [
        f"ldlearn.{package}.{name}"
        for name in module.__all__
        if not isinstance(getattr(module, name), type)
    ]


def _package(package: str) -> str:
    module = import_module(f"ldlearn.{package}")
    title = f"ldlearn.{package}"
    names = [
        f"{title}.{name}"
        for name in module.__all__
        if _has_doc(getattr(module, name))
        and not _is_described_elsewhere(getattr(module, name), name, package)
    ]
    return "\n".join([_title(title), getdoc(module) or "", "", *_summary(names)])


def _is_described_elsewhere(entry: Any, name: str, package: str) -> bool:
    """Whether the page of the package that defines it describes it."""
    home = (getattr(entry, "__module__", None) or "").removeprefix("ldlearn.").partition(".")[0]
    return home != package and home in PACKAGES and name in import_module(f"ldlearn.{home}").__all__


def _has_doc(entry: Any) -> bool:
    """Constants such as tuples of names have only the docstring of their type."""
    return callable(entry)


def _summary(names: list[str]) -> list[str]:
    return [
        ".. autosummary::",
        "   :toctree: generated",
        "   :nosignatures:",
        "",
        *(f"   {n}" for n in names),
        "",
    ]


def _entry(name: str) -> str:
    """The page of one class, function or name for a type."""
    module, _, short = name.rpartition(".")
    entry = getattr(import_module(module), short)
    lines = [_title(short), f".. currentmodule:: {module}", "", f".. auto{_kind(entry)}:: {short}"]
    return "\n".join(lines + (_MEMBERS if _kind(entry) == "class" else []))


def _kind(entry: Any) -> str:
    if isinstance(entry, type):
        return "exception" if issubclass(entry, BaseException) else "class"
    return "function" if isroutine(entry) else "data"


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n"


def _write(path: Path, text: str) -> None:
    """Only if it changed, so that a second build does not read every page again."""
    text = text.rstrip("\n") + "\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _escape_shapes(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """In ``of shape (n_iter_,)`` the trailing underscore is part of a name, not the mark of a
    link."""
    lines[:] = [
        re.sub(r"_(?=[,) *])", r"\\_", line) if "of shape (" in line else line for line in lines
    ]


def _on_config(app: Sphinx, config: Config) -> None:
    write_pages(Path(app.srcdir, "api"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx looks for files."""
    app.connect("config-inited", _on_config)
    app.connect("autodoc-process-docstring", _escape_shapes, priority=600)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
