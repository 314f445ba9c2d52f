"""The commands for what the library has: its methods, their papers, and its data sets."""

import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer
from typer import Argument, Option

from ldlearn.base.discovery import all_estimators, external_methods, find_estimator
from ldlearn.base.references import references
from ldlearn.cli.console import print_json, print_message, print_result, print_table
from ldlearn.cli.options import Json
from ldlearn.datasets import (
    DatasetInfo,
    check_mirrors,
    dataset_info,
    fetch_dataset,
    list_datasets,
    write_dataset,
)
from ldlearn.exceptions import DatasetError, ParameterError
from ldlearn.tables.formats import check_output


def methods(
    kind: Annotated[str | None, Option(help="Only enhancer, learner or joint.")] = None,
) -> None:
    """List the methods: name, kind, origin, summary.

    Methods of other packages are those that they register in the entry point group ldlearn.methods.
    Any other is named as package.module:Class.
    """
    found = [(name, cls, "ldlearn") for name, cls in all_estimators(kind)]
    for name, entry in sorted(external_methods().items()):
        try:
            cls = find_estimator(entry.value)
        except ParameterError as error:  # one broken package must not hide the others
            print_message(f"{name}: {error}")
            continue
        if kind in (None, cls.kind):
            found.append((name, cls, getattr(entry.dist, "name", entry.value)))
    rows = []
    for name, cls, origin in found:
        summary = (cls.__doc__ or "").strip().partition("\n\n")[0]
        # Docstrings wrap their first sentence, a table wraps by itself.
        rows.append((name, cls.kind, origin, " ".join(summary.split())))
    print_table(["Method", "Kind", "Origin", "Summary"], rows)


datasets = typer.Typer(
    add_completion=False, context_settings={"help_option_names": ["-h", "--help"]}
)

Name = Annotated[str, Argument(metavar="NAME", help="Name of a data set, in any spelling.")]


@datasets.callback(invoke_without_command=True)
def list_all_datasets(context: typer.Context, as_json: Json = False) -> None:
    """List the available data sets, and where they are stored.

    \b
    ldlearn datasets
    ldlearn datasets show natural_scene
    ldlearn datasets fetch vader_tweets -o tweets.csv
    ldlearn datasets check s_jaffe
    """
    # typer calls this before the subcommands too
    if context.invoked_subcommand is not None:
        return
    infos = list_datasets()
    if as_json:
        print_json({"datasets": [_dataset_facts(info) for info in infos]})
        return
    rows = []
    for info in infos:
        row = [info.name, info.state, info.terms]
        for size in (info.n_samples, info.n_features, info.n_labels):
            row.append(f"{size:,}" if size else "?")
        rows.append(row)
    print_table(["Name", "State", "Terms", "Rows", "Features", "Labels"], rows, n_numeric=3)


def _dataset_facts(info: DatasetInfo) -> dict[str, Any]:
    facts = asdict(info)
    del facts["files"]
    return facts


@datasets.command("show")
def show_dataset(name: Name, as_json: Json = False) -> None:
    """Show sizes, terms of use, origin and known problems of a data set."""
    info = _dataset_facts(dataset_info(name))
    if as_json:
        print_json(info)
        return
    rows = []
    heading = info.pop("name")
    for key, value in info.items():
        if isinstance(value, list):
            value = ", ".join(value)
        if value not in ("", None, ()):
            rows.append((key.replace("_", " ").replace("n ", "number of "), value))
    print_table(["Data set", heading], rows)


@datasets.command("fetch")
def fetch_one(
    name: Name,
    output: Annotated[
        str | None, Option("--output", "-o", metavar="FILE", help="Also write .csv, .npz, ...")
    ] = None,
    as_json: Json = False,
) -> None:
    """Download a data set into the cache after showing its terms; embedded ones need no network."""
    if output is not None:
        check_output(output)
    data = fetch_dataset(name, progress=sys.stderr.isatty(), on_message=print_message)
    if output is not None:
        write_dataset(data, output)
    info = dataset_info(name)
    if as_json:
        print_json({"name": info.name, "state": info.state, "path": info.path, "output": output})
        return
    print_result(repr(data))
    place = "it comes with the package" if info.state == "embedded" else f"file: {info.path}"
    if output is not None:
        place += f"; written to {output}"
    print_result(f"  {place}")


@datasets.command("check")
def check_all_mirrors(
    names: Annotated[
        list[str] | None, Argument(metavar="[NAME]...", help="All by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Download data sets from each of their mirrors, verify the checksums, and keep nothing."""
    checks = list(check_mirrors(names or ()))
    if as_json:
        print_json({"mirrors": [found._asdict() for found in checks]})
    else:
        rows = []
        for found in checks:
            rows.append((found.dataset, found.problem or f"{found.mirror} delivers the file."))
        print_table(["Data set", "Result"], rows)
    delivered = {found.dataset for found in checks if not found.problem}
    lost = {found.dataset for found in checks} - delivered
    if lost:
        raise DatasetError(
            f"No mirror delivers {', '.join(sorted(lost))}; "
            "check your connection, or place the files by hand."
        )


def cite(
    methods: Annotated[
        list[str], Argument(metavar="METHOD...", help="As `ldlearn methods` lists them.")
    ],
) -> None:
    """Print BibTeX entries of the papers of methods.

    \b
    ldlearn cite DLDL GLLE > methods.bib
    """
    entries = {}
    for name in methods:
        found = references(find_estimator(name))
        for reference in found:
            entries[reference.key] = reference.to_bibtex()
        if not found:
            print_message(f"{name} is not from a paper; cite the software (CITATION.cff).")
    print_result("\n\n".join(entries.values()))
