"""The one error class of the data layer."""

from __future__ import annotations

from collections.abc import Mapping


class DatasetError(ValueError):
    """A data set, or the file it should come from, cannot be used as asked.

    Parameters
    ----------
    message : str
        What is wrong, where, and what to do about it.
    rows : mapping of str to list of int, optional
        All offending rows (counted from 0) by kind of problem, where the problem lies in rows; the message
        names only the first few.
    """

    def __init__(self, message: str, rows: Mapping[str, list[int]] | None = None) -> None:
        super().__init__(message)
        self.rows: dict[str, list[int]] = dict(rows or {})
