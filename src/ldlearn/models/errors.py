"""The errors of tables and model files: one sentence each, about something a user can put right."""

from __future__ import annotations


class TableError(ValueError):
    """A table cannot be used as asked.

    Parameters
    ----------
    problem : str
        What is wrong and what to do about it.
    row : object, optional
        Where: the label of the row, as counted by whoever made the table.
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
        self, problem: str, *, row: object = None, column: str | None = None, where: str | None = None
    ) -> None:
        place = [where] if where is not None else []
        place += [f"row {row}"] if row is not None else []
        place += [f"column {column!r}"] if column is not None else []
        super().__init__(f"{', '.join(place)}: {problem}" if place else problem)
        self.problem, self.row, self.column, self.where = problem, row, column, where

    def within(self, where: str) -> TableError:
        """The same error with the name of the file, unless it has one."""
        if self.where is not None:
            return self
        return TableError(self.problem, row=self.row, column=self.column, where=where)


class ModelFileError(ValueError):
    """A model file cannot be written or read; nothing of it has been executed."""
