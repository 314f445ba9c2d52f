"""The options of functions on tables, which are the options of the commands too.

Each group is a frozen dataclass. A `cli_option` is also one of the command line, which derives its
name, metavariable and help from the field; a field without help is for Python only.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from ldlearn.exceptions import ParameterError

Columns = str | int | slice | Sequence[str | int | slice] | None


def cli_option(metavar: str | None, help: str, default: Any = None, *flags: str) -> Any:
    """A field that is an option of the command line, by default under the name of the field."""
    return field(default=default, metadata={"metavar": metavar, "help": help, "flags": flags})


def check_meaningful(options: Any, meaningful: Collection[str]) -> None:
    """Refuse options beside a model that has no use for them."""
    for name in given_options(options):
        if name not in meaningful:
            raise ParameterError(
                f"{name} has no meaning beside a model, which is fitted already; leave it out."
            )


def given_options(options: Any) -> list[str]:
    """The names of the options in a group that differ from their defaults."""
    return [each.name for each in fields(options) if getattr(options, each.name) != each.default]


@dataclass(frozen=True)
class ColumnOptions:
    """The roles and types of the columns of a table that a method is fitted on, and its labels.

    Columns are selected by names, prefixes (``emo_*``), ranges (``x1:x9``) or positions; see
    `ldlearn.tables.columns`.

    Attributes
    ----------
    kind : {"auto", "votes", "mixed"}, default="auto"
        What the label columns hold: counts of votes, and 0/1 labels with the degrees of some rows,
        have to be declared. A method that takes counts of votes reads undeclared labels as counts.
    blank : float, optional
        Value of empty label cells: 0, or NaN for unknown. By default they are unknown, too, but if
        more than 10 % are empty and all others positive, this has to be stated.
    zeros : {"none", "less"}, optional
        What a 0 means to a method that is given by name; see `ldlearn.DLDL`. None assumes "none"
        and reports the mean number of positive labels.
    empty_rows : {"error", "drop", "unknown"}, default="error"
        Rows whose labels are all 0: an error, left out, or labels that are unknown. Rows without
        votes are no error, and can be left out.
    separator : str, optional
        What separates labels in one column of lists; found by default.
    features : str or sequence, optional
        The feature columns; by default all that are neither labels nor the id. A column is taken
        for what it looks like: numbers (a few cells that are none count as missing), dates,
        categories, prose; it is left out if it has the same value in every row, and refused if it
        looks like an identifier.
    numeric, categorical, datetime, text, ignore : str or sequence, optional
        Features to be taken for numbers, for categories (codes), for datetimes or for prose, or
        left out, whatever they look like. ``datetime`` may be a mapping of columns to forms such
        as ``"%d/%m/%Y"``.
    id : str, optional
        The identifier column.
    groups : str, optional
        A column that names groups of rows that belong together, such as the patient, the author or
        the photo; it is no feature. A group is held out as a whole, standard errors are those of
        independent groups, and methods that take ``groups`` get them. A missing value is an error.
        Rows with equal features are kept together in any case, so that groups with such rows count
        as one.
    """

    kind: str = cli_option("KIND", "votes; mixed (0/1, degrees).", "auto")
    blank: float | None = cli_option("0|nan", "Empty label cells are 0, or unknown (default).")
    zeros: str | None = cli_option(
        "none|less", "0 means none (default), or less: not a main label."
    )
    empty_rows: str = cli_option("HOW", "Rows of 0 only: error (default), drop, unknown.", "error")
    separator: str | None = cli_option("CHAR", "Separates the labels in a single column of lists.")
    features: Columns = cli_option("COLS", "Features; default: all other columns.")
    numeric: Columns = cli_option("COLS", "Numeric features; malformed cells are missing.")
    categorical: Columns = cli_option("COLS", "Categorical features.")
    datetime: Columns | Mapping[str, str] = cli_option("COLS", "Datetime features.")
    text: Columns = cli_option("COLS", "Text features: TF-IDF, or an embedding.")
    ignore: Columns = cli_option("COLS", "Columns to leave out.")
    id: str | None = cli_option("COL", "Identifier column.")
    groups: str | None = cli_option("COL", "Column of groups that are split as a whole.")


@dataclass(frozen=True)
class WritingOptions:
    """What is written of a table, and how.

    Attributes
    ----------
    to : str, optional
        Its format, if that cannot be inferred from the name.
    round : int, optional
        Decimals of the degrees, which still sum to 1; by default all that a double has.
    interval : float, optional
        Nominal coverage of intervals, which are written as ``LABEL_low`` and ``LABEL_high`` for
        each label.
    raters : float, optional
        How many raters voted on a row, if that is known: intervals are then for the degrees of the
        very row. Methods that take counts of votes know it.
    flag_far : bool, default=False
        Write also ``far``: 1 for rows far from those of the fit.
    keep : str or sequence, optional
        Columns of the table that are written too, between the id and the degrees. Where rows are
        shown to people, by default the texts, or the first features.
    raw : bool, default=False
        Write names and texts unchanged. By default, those that a spreadsheet would run as formulas
        get an apostrophe in CSV and TSV, which is removed when ldlearn reads them, and control
        characters are escaped on standard output.
    overwrite : bool, default=True
        Whether an existing output is replaced.
    """

    to: str | None = cli_option("FMT", "Format of standard output.")
    round: int | None = cli_option("N", "Decimals of the degrees; default: all.")
    interval: float | None = cli_option(
        "LEVEL", "Add LABEL_low, LABEL_high: intervals of this nominal level."
    )
    raters: float | None = cli_option("N", "For --interval: number of raters of a row.")
    flag_far: bool = cli_option(None, "Add a column far: 1 if the row is far from training.", False)
    keep: Columns = cli_option("COLS", "Columns of DATA to write too.")
    raw: bool = cli_option(None, "Do not escape formulas and control characters.", False)
    overwrite: bool = cli_option(None, "Do not overwrite an existing file.", True, "--no-clobber")
