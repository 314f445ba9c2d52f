"""What the columns of a table are taken for: numbers, categories, dates, texts; or nothing that a model can use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.exceptions import TableError, format_list
from ldlearn.tables.dates import find_form, may_be_versions
from ldlearn.tables.sparse_table import SparseTable
from ldlearn.tables.values import (
    is_missing,
    is_padded,
    is_placeholder,
    read_numbers,
    read_written_numbers,
    repr_cell,
    to_texts,
)

if TYPE_CHECKING:
    from ldlearn.tables.number_parsing import WrittenNumbers

MOST_CATEGORIES = 1000
EMPTY, FLAT = "no value in any row", "the same value in every row"
COUNTER = "whole numbers that name the rows, like an id"
LONG_CODE = "long whole numbers that hardly come again, like numbers of accounts"
_MOST_JUNK = 0.1  # of the cells of a column of numbers
_NEARLY_UNIQUE = 0.8  # different texts, as a share of the cells
_FEWEST_CELLS = 5  # too few cells tell nothing about how often texts come again
_SURELY_TOLD = 1000  # so many cells tell whether a column is made of numbers
_PROSE_WORDS = 3  # a cell, on average
_CELLS_NAMED = 3
_FEWEST_COUNTED = 20  # rows: 1, 2, 3 may be anything
_LONG = 12  # digits of a number that hardly anybody has measured
_MOST_DIGITS = 20
_SECONDS_OF_OUR_TIME = (5e8, 5e9)  # since 1970
_NAME_OF_AN_ID = re.compile(
    r"(?:^|[^A-Za-z])(?:id|ids|idx|uid|uuid|guid|pk|rowid)(?:$|[^A-Za-z])|[a-z](?:Id|ID|Key|Nr|No)(?:$|[^a-z])"
    r"|(?:^|[^A-Za-z])(?:key|nr|no)[^A-Za-z]*$"  # but a No. of rooms counts
    r"|^(?:index|number|nummer|num|row|rownum|serial|record|column1|unnamed: 0)$",
)
_PAIR = re.compile(r"(\d{1,2}),(\d{1,2})")
# A word, or one sign of a script that writes without spaces.
WORD = r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+"
_LETTERS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\b[^\W\d_\u3040-\u30ff\u3400-\u9fff]{2,}\b")

# How cells are read, and how that is told.
_READ_AS = {
    "thousands": "as written with marks between thousands",
    "percents": "with a percent sign, 12% as 12, others without",
    "commas": "as written with a decimal comma, 12,5 as 12.5",
    "debits": "as negative, (12) as -12",
    "other_dates": "as dates in another form than the column has",
    "unseen": "as none of the categories, not seen in training",
    "far": "as they are, but lie far beyond all rows of training (another unit? unknown?)",
}

Mask = NDArray[np.bool_]


@dataclass
class NamedCells:
    """Cells that the user should know of: how many of each column, and which are the first."""

    meaning: str = "as missing"
    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, list[str]] = field(default_factory=dict)

    def add(self, series: Any, column: str, cells: Mask) -> None:
        """Note the cells of a column that are marked."""
        found = np.flatnonzero(cells)
        if not len(found):
            return
        self.counts[column] = self.counts.get(column, 0) + len(found)
        named = self.first.setdefault(column, [])
        more = found[: max(0, _CELLS_NAMED - len(named))]
        named += [f"row {series.index[i]} {repr_cell(series.iloc[i])}" for i in more]

    def sentences(self) -> list[str]:
        """One sentence for each column."""
        return [self.sentence(column) for column in self.counts]

    def sentence(self, column: str) -> str:
        """How many cells of a column there are, and which are the first."""
        count, named = self.counts[column], self.first[column]
        more = f" and {count - len(named):,} more" if count > len(named) else ""
        cells = "1 cell counts" if count == 1 else f"{count:,} cells count"
        return f"Column {column!r}: {cells} {self.meaning}: {', '.join(named)}{more}."


@dataclass
class JunkCells(NamedCells):
    """Cells that are not what their column is made of; they count as missing.

    ``decimal`` is the decimal mark of the table, where the user says it.
    """

    decimal: str | None = None
    noted: dict[str, NamedCells] = field(
        default_factory=lambda: {how: NamedCells(meaning) for how, meaning in _READ_AS.items()}
    )

    def read_numbers(self, series: Any, column: str) -> NDArray[np.float64]:
        """A column as numbers; what is none is noted, and how the others are written."""
        numbers, other, written = read_written_numbers(series, self.decimal)
        junk = np.zeros(len(series), dtype=bool)
        junk[other] = True
        if written is not None:
            known, no_other = ~np.isnan(written.values), bool(np.isnan(numbers).all())
            self._add_marks(series.iloc[other][known], column, written, known, no_other, len(series))
            numbers[other] = written.values
            junk[other] = ~known
        if junk.any():
            check_not_all_junk(series, column, junk)
            self.add(series, column, junk)
        return numbers

    def _add_marks(
        self, cells: Any, column: str, written: WrittenNumbers, known: Mask, no_other: bool, n_rows: int
    ) -> None:
        """Note percent signs and marks between thousands only where nothing else shows them.

        That is so where some numbers have no percent sign, and where few cells have marks or every cell might as well
        have a decimal comma (1,234).
        """
        percents, marks = written.percents[known], written.marks[known]
        for how in ("commas", "debits"):
            self.noted[how].add(cells, column, getattr(written, how)[known])
        if not no_other or not percents.all():
            self.noted["percents"].add(cells, column, percents)
        if (no_other and written.doubtful[known].all()) or marks.sum() <= _MOST_JUNK * n_rows:
            self.noted["thousands"].add(cells, column, marks)

    def sentences(self) -> list[str]:
        """One sentence for each column."""
        return [*super().sentences(), *(text for cells in self.noted.values() for text in cells.sentences())]


@dataclass(frozen=True)
class ColumnKinds:
    """The feature columns by what they are taken for.

    Attributes
    ----------
    numeric, categorical, texts : tuple of str
        Columns of numbers; of texts that come again and again; of prose.
    dates : dict of str to str
        Columns of dates, and the form of each; see `ldlearn.tables.dates`.
    left_out : dict of str to str
        Columns that no model can use, and why.
    """

    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    dates: Mapping[str, str] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    def in_words(self) -> dict[str, str]:
        """What each column was taken for."""
        words = dict.fromkeys(self.numeric, "numbers") | dict.fromkeys(self.categorical, "categories")
        words |= {name: f"dates ({form})" for name, form in self.dates.items()} | dict.fromkeys(self.texts, "texts")
        return words | {name: f"left out: {reason}" for name, reason in self.left_out.items()}


def find_kinds(
    table: Any,
    features: Sequence[str],
    *,
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    date: Sequence[str] | Mapping[str, str] = (),
    text: Sequence[str] = (),
    decimal: str | None = None,
) -> ColumnKinds:
    """Find out what the columns are; what the caller says of them, and of the decimal mark, is not questioned.

    Raises
    ------
    TableError
        If a column looks like names of the rows, which say nothing of other rows, or has too many categories.
    """
    if isinstance(table, SparseTable):
        rest = [name for name in features if name not in table.place]
        others = find_kinds(
            table.frame, rest, numeric=numeric, categorical=categorical, date=date, text=text, decimal=decimal
        )
        return _with_sparse(others, table.take_columns([name for name in features if name in table.place]))
    told = dict.fromkeys(numeric, "numeric") | dict.fromkeys(categorical, "categorical")
    told |= dict.fromkeys(text, "texts") | dict.fromkeys(date, "date")
    plain = {name for name, kind in zip(table.columns, table.dtypes, strict=True) if kind.kind in "iuf"}
    open_to_doubt = [name for name in features if name not in told]
    numbers = [name for name in open_to_doubt if name in plain]
    # As one block: a call for each of thousands of columns would take most of the time.
    values = table[numbers].to_numpy(dtype=np.float64, na_value=np.nan)
    left_out = _without_content(table, open_to_doubt, values, numbers) | _names_of_rows(values, numbers)
    # A cross where something holds and nothing elsewhere is flat only among the cells that are filled.
    ticks = [name for name in open_to_doubt if left_out.get(name) == FLAT and has_ticks(table[name])]
    left_out = {name: reason for name, reason in left_out.items() if name not in ticks}
    told |= dict.fromkeys(ticks, "categorical")
    found = {
        name: told.get(name) or ("numeric" if name in plain else _looks_like(table[name], name, decimal))
        for name in features
        if name not in left_out
    }
    of = {kind: tuple(names) for kind, names in columns_by_kind(found).items()}
    left_out |= {name: found[name] for kind in (COUNTER, LONG_CODE) for name in of.get(kind, ())}
    forms = date if isinstance(date, Mapping) else {}
    dates = {name: forms.get(name) or _form_of_dates(table[name], name) for name in of.get("date", ())}
    _check_categories(table, of.get("categorical", ()))
    return ColumnKinds(of.get("numeric", ()), of.get("categorical", ()), dates, of.get("texts", ()), left_out)


def _form_of_dates(series: Any, column: str) -> str:
    form = find_form(series, column)
    if form is None:
        raise TableError("nothing in it reads as dates; write them as 2024-03-31.", column=column)
    return form


def _check_categories(table: Any, names: Sequence[str]) -> None:
    """Refuse columns of categories with more values than a model can hold apart."""
    for name in names:
        if _count_distinct(table[name]) <= MOST_CATEGORIES:
            continue
        # Cells that differ may be spellings of one category.
        count = len(set(to_texts(table[name], name)[~is_missing(table[name])]))
        if count > MOST_CATEGORIES:
            raise TableError(
                f"{count:,} different texts in {len(table):,} rows are too many for categories; name it as the id or "
                "as text, or leave it out of the features (ignore).",
                column=name,
            )


def _with_sparse(others: ColumnKinds, table: SparseTable) -> ColumnKinds:
    """What the others are taken for, and before them the numbers of a sparse matrix; columns of zeros are flat."""
    # Zeros may be stored, too.
    filled = np.bincount(table.matrix.indices[table.matrix.data != 0], minlength=len(table.names))
    used = tuple(name for name, count in zip(table.names, filled, strict=True) if count)
    flat = {name: FLAT for name, count in zip(table.names, filled, strict=True) if not count}
    return replace(others, numeric=(*used, *others.numeric), left_out=flat | dict(others.left_out))


def _without_content(
    table: Any, names: Sequence[str], values: NDArray[np.float64], numbers: list[str]
) -> dict[str, str]:
    """Columns with no value, or with one and the same in every row; ``values`` are those of the columns of numbers."""
    lowest, highest = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)  # of what is known
    # Of a single row nobody can say that a column is constant.
    reasons = {EMPTY: np.isnan(lowest), FLAT: (lowest == highest) & (len(values) > 1)}
    found = {numbers[int(j)]: reason for reason, marked in reasons.items() for j in np.flatnonzero(marked)}
    for name in set(names).difference(numbers):
        present = table[name][~is_missing(table[name])]
        if not len(present):
            found[name] = EMPTY
        elif len(table) > 1 and _count_distinct(present) == 1:
            found[name] = FLAT
    return {name: found[name] for name in names if name in found}


def has_ticks(series: Any) -> bool:
    """Whether a column has a single value where it has any, and none in so many rows that this tells something."""
    missing = is_missing(series)
    return bool(missing.mean() >= _MOST_JUNK) and _count_distinct(series[~missing]) == 1


def _names_of_rows(values: NDArray[np.float64], numbers: list[str]) -> dict[str, str]:
    """Columns of whole numbers that name the rows, and which kind of names they are."""
    whole = np.flatnonzero(((values == np.floor(values)) | np.isnan(values)).all(axis=0)).tolist()
    found = {numbers[j]: _kind_of_names(values[:, j], numbers[j]) for j in whole}
    return {name: kind for name, kind in found.items() if kind is not None}


def _kind_of_names(values: NDArray[np.float64], column: str) -> str | None:
    """Numbers that count the rows from 0 or 1; or hardly come again, and are called an id or have many digits."""
    values = values[~np.isnan(values)]
    found = np.unique(values)
    if not len(found) or (found % 1 != 0).any():
        return None
    counted = len(found) == len(values) and found[0] in (0, 1) and found[-1] - found[0] == len(values) - 1
    # As written, for the capitals in userId; and in small letters, for USER_ID.
    named = _NAME_OF_AN_ID.search(column) or _NAME_OF_AN_ID.search(column.lower())
    hardly_again = len(found) >= _NEARLY_UNIQUE * len(values) and len(values) >= _FEWEST_CELLS
    if (counted and len(values) >= _FEWEST_COUNTED) or (named is not None and hardly_again):
        return COUNTER
    return LONG_CODE if hardly_again and len(values) >= _FEWEST_COUNTED and _are_long_codes(found) else None


def _kind_of_plain_names(series: Any, column: str, decimal: str | None) -> str | None:
    """The same of numbers with junk among them; what is written with a currency, a unit or the like names no rows."""
    numbers, _, written = read_written_numbers(series, decimal)
    if written is not None and not np.isnan(written.values).all():
        return None
    return _kind_of_names(numbers, column)


def _are_long_codes(numbers: NDArray[np.float64]) -> bool:
    """Whether whole numbers have many digits, all equally many, are not rounded, and are no times."""
    low, high = numbers[0], numbers[-1]
    digits = len(str(int(high)))
    alike = _LONG <= digits <= _MOST_DIGITS and 10.0 ** (digits - 1) <= low
    first, last = _SECONDS_OF_OUR_TIME
    # In milli-, micro- or nanoseconds; seconds have fewer digits than a long code.
    is_epoch = any(first * unit <= low and high <= last * unit for unit in (1e3, 1e6, 1e9))
    year = 10.0 ** (digits - 4)
    is_calendar = digits in (12, 14, 17) and low >= 1900 * year and high < 2100 * year  # 202403311530
    return alike and not is_epoch and not is_calendar and bool((numbers % 1000 != 0).mean() > 0.5)


def _count_distinct(present: Any) -> int:
    try:
        return int(present.nunique())
    except TypeError:  # something that cannot even be compared, such as a list; whoever reads it will complain
        return len(present)


def _looks_like(series: Any, column: str, decimal: str | None) -> str:
    """What a column that has no type of its own is taken for, or why it is left out."""
    if getattr(series.dtype, "kind", "O") == "M":
        return "date"
    present = series[~is_missing(series)]
    if not _are_codes(present) and not _are_lists(present) and _is_nearly_numeric(series, decimal):
        return _kind_of_plain_names(series, column, decimal) or "numeric"
    # Trying all forms is dear, and most columns of texts have no digit in their first cells.
    form = find_form(series, column) if _has_digits(present) else None
    if form is not None and not may_be_versions(series, form):
        return "date"
    count = _count_distinct(present)
    if len(present) < _FEWEST_CELLS or (count < _NEARLY_UNIQUE * len(present) and count <= MOST_CATEGORIES):
        return "categorical"
    if _words_per_cell(present) >= _PROSE_WORDS:
        return "texts"
    number, rows = f"{count:,} different texts", f"{len(series):,} rows"
    # such as times without a date, or amounts in several currencies
    if _mostly_digits(present) and not _are_codes(present):
        raise TableError(
            f"{number} in {rows}, such as {repr_cell(present.iloc[0])} and {repr_cell(present.iloc[-1])}, are neither "
            "numbers nor dates of one form; write all in one form, name the column as the id, or ignore it.",
            column=column,
        )
    raise TableError(
        f"{number} in {rows} are names of the rows, not categories; name the column as the id, or leave it out "
        "(ignore); if it does say something, name it as categorical or text.",
        column=column,
    )


def _mostly_digits(present: Any) -> bool:
    """Whether most cells begin with a digit, or one after a sign, and half of their characters or more are digits."""
    texts = present.astype(str).str.strip()
    digits = texts.str.count("[0-9]") / texts.str.len().clip(lower=1)
    return bool(((digits >= 0.5) & texts.str.match(r"\W?\d")).mean() > 0.5)


def _has_digits(present: Any) -> bool:
    return any(isinstance(cell, str) and any(map(str.isdigit, cell)) for cell in present.head(_FEWEST_CELLS).tolist())


def _are_codes(present: Any) -> bool:
    """Whether a column holds codes of digits, some of which begin with 0."""
    cells = present.tolist()
    return all(isinstance(cell, str) and cell.strip().isdigit() for cell in cells) and any(map(is_padded, cells))


def _are_lists(present: Any) -> bool:
    """Whether commas may separate codes, the smaller first: 1,3 beside 2,4 and 3, but not beside 2,0 or 5,5."""
    texts = {cell.strip() for cell in present.tolist() if isinstance(cell, str)}
    pairs = [(match[1], match[2]) for text in texts if (match := _PAIR.fullmatch(text))]
    if not all(int(first) < int(second) and second[0] != "0" for first, second in pairs):
        return False
    firsts, seconds = {first for first, _ in pairs}, {second for _, second in pairs}
    return min(len(firsts), len(seconds)) > 1 and bool(seconds & (firsts | texts))


def _is_nearly_numeric(series: Any, decimal: str | None) -> bool:
    # Some cells tell most texts from numbers; only what passes is read as a whole.
    step = len(series) // _SURELY_TOLD
    likely = step < 2 or _share_of_junk(series.iloc[::step], decimal) <= 0.5
    return likely and _share_of_junk(series, decimal) <= _MOST_JUNK


def _share_of_junk(series: Any, decimal: str | None) -> float:
    """Cells that are no numbers, among those that claim to be something."""
    numbers, junk = read_numbers(series, decimal)
    n_numbers = int((~np.isnan(numbers)).sum())
    other = sum(not is_placeholder(cell) for cell in series[junk].tolist())
    return other / (n_numbers + other) if n_numbers else 1.0


def _words_per_cell(present: Any) -> float:
    cells = present.head(1000).tolist()
    return sum(len(_LETTERS.findall(cell)) for cell in cells if isinstance(cell, str)) / len(cells)


def check_not_all_junk(series: Any, column: str, junk: Mask, advice: str = "are the columns named rightly?") -> None:
    """Refuse a column that is plainly something else than what it was in training, or than what the user says."""
    count, present = int(junk.sum()), int((~is_missing(series)).sum())
    # Of a few cells, as in a row or two to be predicted, most may be odd by chance.
    if present >= 2 * _FEWEST_CELLS and count > present / 2:
        first = int(np.argmax(junk))
        raise TableError(
            f"{count:,} of {present:,} values are not of the kind that the column is taken for "
            f"({repr_cell(series.iloc[first])}); {advice}",
            row=series.index[first],
            column=column,
        )


def columns_by_kind(words: Mapping[str, str]) -> dict[str, list[str]]:
    """The columns by what they were taken for."""
    groups: dict[str, list[str]] = {}
    for name, kind in words.items():
        groups.setdefault(kind, []).append(name)
    return groups


def describe_kinds(words: Mapping[str, str]) -> list[str]:
    """What columns were taken for, in a few lines: by kind, the first names and how many more."""
    return [f"{kind}: {format_list(names)}" for kind, names in columns_by_kind(words).items()]
