"""Model files: `save_model` and `load_model`."""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.base import LabelEstimator
from ldlearn.errors import FileError, ModelFileError
from ldlearn.io.atomic import naming_system_errors, writing
from ldlearn.io.values import import_pandas
from ldlearn.models.archive import read_archive, write_archive
from ldlearn.models.encoding import Decoder, Encoder
from ldlearn.models.table_model import TableModel, check_summary
from ldlearn.versions import installed_versions

_TABLE_FIELDS = ("estimator", "preprocessing", "numeric", "categorical", "labels", "id", "facts")
_PROBE_ROWS = 3


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file that is safe to share.

    The file is a zip of JSON and arrays: loading it runs no code of the file. It holds everything the model
    holds; for most methods that includes the degrees of the training rows, for methods that look
    up neighbours also their features.

    Parameters
    ----------
    model : TableModel or fitted estimator of this library
    path : str or path-like
        By custom it ends in ``.ldl``. An existing file is replaced once the new one is complete.

    Raises
    ------
    ModelFileError
        If the model holds something that a file cannot, such as a function.
    """
    encoder = Encoder()
    content = {"made_with": installed_versions(), **_content(model, encoder)}
    with writing(Path(path)) as file:
        write_archive(file, content, encoder.arrays)


def _content(model: Any, encoder: Encoder) -> dict[str, Any]:
    if isinstance(model, TableModel):
        parts = {name: encoder.encode(getattr(model, name), name) for name in _TABLE_FIELDS}
        kind = "table"
    elif isinstance(model, LabelEstimator):
        parts, kind = {"estimator": encoder.encode(model, type(model).__name__)}, "estimator"
    else:
        raise ModelFileError(f"Only a TableModel or an estimator of ldlearn can be saved, not {type(model).__name__}.")
    return {"kind": kind, "model": parts, "probe": encoder.encode(_probe(model))}


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file that `save_model` has written.

    No pickle is read, no code of the file runs, no module is imported for its sake; the memory needed is bounded by the
    size of the file. After loading, the model must reproduce a few predictions stored with it.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    model : TableModel or estimator
        Predicts the same numbers, to the last bit, as the one that was saved.

    Raises
    ------
    ModelFileError
        If the file is truncated, changed, from a newer version, hostile, or no model file at all.
    """
    path = Path(path)
    try:
        with naming_system_errors(path, "read"):
            content, arrays = read_archive(path)
        model = _rebuild(content, arrays)
        expected = Decoder(arrays).decode(content["probe"])
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be loaded: {error}.") from None
    except FileError:
        raise
    except Exception as error:
        raise ModelFileError(f"{path} cannot be loaded: it is damaged ({type(error).__name__}).") from None
    _check_probe(model, expected, content.get("made_with"), path)
    return model


def load_table_model(path: str | os.PathLike[str]) -> TableModel:
    """The model of a file, which must be one for tables."""
    loaded = load_model(path)
    if not isinstance(loaded, TableModel):
        raise ModelFileError(
            f"{path}: it holds a bare {type(loaded).__name__} without column names; use it from Python by "
            "ldlearn.models.load_model."
        )
    return loaded


def _rebuild(content: dict[str, Any], arrays: list[Any]) -> Any:
    decoder = Decoder(arrays)
    parts = {str(name): decoder.decode(value) for name, value in content["model"].items()}
    estimator = parts["estimator"]
    if not isinstance(estimator, LabelEstimator):
        raise ModelFileError("it holds no estimator of ldlearn")
    if content["kind"] == "estimator":
        return estimator
    _check_table_parts(parts)
    check_summary(parts["facts"], parts["labels"])
    return TableModel(**parts)


def _check_table_parts(parts: dict[str, Any]) -> None:
    from sklearn.compose import ColumnTransformer

    names = [parts[field] for field in ("numeric", "categorical", "labels")]
    sound = (
        set(parts) == set(_TABLE_FIELDS)
        and all(isinstance(group, tuple) and all(isinstance(name, str) for name in group) for group in names)
        and isinstance(parts["preprocessing"], ColumnTransformer)
        and isinstance(parts["id"], str | None)
        and hasattr(parts["estimator"], "predict")
    )
    if not sound:
        raise ModelFileError("its parts are not those of a table model")


def _probe(model: Any) -> dict[str, NDArray[Any]]:
    """What the model says of a few made-up rows: predictions, and degrees if it can enhance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(model, TableModel):
            estimator, X = model.estimator, model.transform(_made_up_table(model))
        else:
            estimator = model
            X = np.random.default_rng(0).normal(size=(_PROBE_ROWS, int(model.n_features_in_)))
        found = {"predict": np.asarray(estimator.predict(X))} if hasattr(estimator, "predict") else {}
        if hasattr(estimator, "enhance"):
            first_two = np.zeros((_PROBE_ROWS, len(estimator.label_names_)))
            first_two[:, :2] = 1
            found["enhance"] = np.asarray(estimator.enhance(X, first_two))
        return found


def _made_up_table(model: TableModel) -> Any:
    """Rows with missing, ordinary and unseen values in every column."""
    columns: dict[str, Any] = dict.fromkeys(model.numeric, np.array([np.nan, 0.0, 1.0]))
    columns |= dict.fromkeys(model.categorical, np.array([None, "a value never seen", "0"], dtype=object))
    return import_pandas().DataFrame(columns)


def _check_probe(model: Any, expected: Any, made_with: Any, path: Path) -> None:
    problem = "other predictions than when it was saved"
    with suppress(Exception):
        found = _probe(model)
        if set(found) == set(expected) and all(_nearly(found[name], expected[name]) for name in found):
            return
    saved = made_with if isinstance(made_with, dict) else {}
    here = installed_versions()
    other = [
        f"{name} {str(saved.get(name))[:20]} (here {here[name]})" for name in here if saved.get(name) != here[name]
    ]
    advice = f"it was saved with {', '.join(other)}: install those, or fit again" if other else "it is damaged"
    raise ModelFileError(f"{path} cannot be loaded: the model gives {problem}; {advice}.")


def _nearly(found: NDArray[Any], expected: NDArray[Any]) -> bool:
    return found.shape == expected.shape and bool(np.allclose(found, expected, rtol=1e-6, atol=1e-9))
