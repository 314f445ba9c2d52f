"""The errors that a user can correct.

Each is an `LDLearnError` with one sentence: what is wrong, where, what to do. The command line
prints that sentence and exits with 2. Any other exception that reaches it is reported as a bug.
Each class is also the built-in exception that Python programmers, and scikit-learn's checks, expect
in its place.
"""


class LDLearnError(Exception):
    """An error that the user can correct; its message is one sentence."""


class InputError(LDLearnError, ValueError):
    """A value, parameter, array or file content cannot be used as given."""


class ParameterError(InputError, TypeError):
    """A parameter that does not exist, or a value that it cannot take."""


class DatasetError(InputError):
    """A data set, or the file it should come from, cannot be used as asked."""


class TableError(InputError):
    """A table cannot be used as asked.

    Parameters
    ----------
    problem : str
        What is wrong and what to do about it.
    row : object, optional
        Where: the label of the row, as counted in the file.
    column : str, optional
        Where: the name of the column.
    where : str, optional
        Where: the name of the file.

    Examples
    --------
    >>> print(TableError("'old' is not a number.", row=3, column="age", where="people.csv"))
    people.csv, row 3, column 'age': 'old' is not a number.
    """

    def __init__(
        self,
        problem: str,
        *,
        row: object = None,
        column: str | None = None,
        where: str | None = None,
    ) -> None:
        self.problem = problem
        self.row = row
        self.column = column
        self.where = where
        place = []
        if where is not None:
            place.append(where)
        if row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column {column!r}")
        if place:
            problem = f"{', '.join(place)}: {problem}"
        super().__init__(problem)

    def with_file(self, where: str) -> "TableError":
        """The same error with the name of the file, unless it has one."""
        if self.where is not None:
            return self
        return TableError(self.problem, row=self.row, column=self.column, where=where)


class ModelFileError(InputError):
    """A model file cannot be written or read; nothing of it has been executed."""


class FileError(LDLearnError, OSError):
    """The system would not read or write a file; the sentence names it."""


class MissingDependencyError(LDLearnError, ImportError):
    """An optional package is needed and not installed."""
