"""Model files: `save_model` and `load_model`.

A file is a zip of uncompressed members, JSON and .npy arrays, each with its checksum. Nothing is compressed, so a file
can never ask for more memory than its own size. The container is our own, because skops, the nearest library, lets a
file name what to call and leaves it to the reader to judge that; here it names one of our estimators.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer

from ldlearn.base import LabelEstimator
from ldlearn.base.discovery import installed_versions
from ldlearn.exceptions import FileError, ModelFileError, TableError
from ldlearn.tables.atomic import naming_system_errors, writing
from ldlearn.tables.column_kinds import JunkCells
from ldlearn.tables.encoding import Decoder, Encoder
from ldlearn.tables.features import TablePreprocessing, from_column_transformer
from ldlearn.tables.file_schema import check_facts, fits
from ldlearn.tables.npz import read_array
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.values import import_pandas

MAGIC = "ldlearn-model"
VERSION = 1
_CONTENT = "model.json"
_CHECKSUM = "model.json.sha256"
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes
_LARGEST_JSON = 256 << 20
# The last record of a zip has 22 bytes, and then a comment of less than 64 KB.
_END_SIGNATURE, _END_RECORD, _LONGEST_COMMENT = b"PK\x05\x06", 22, 1 << 17
# Older protocols begin like any text, and are refused as no zip.
_PICKLE_STARTS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")

_TABLE_PARTS: dict[str, Any] = {
    "estimator": LabelEstimator,
    "preprocessing": TablePreprocessing,
    "numeric": (str,),
    "categorical": (str,),
    "labels": (str,),
    "id": str | None,
    "facts": dict,
    "dates": {str: str},
    "texts": (str,),
}
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
        _write_archive(file, content, encoder.arrays)


def _content(model: Any, encoder: Encoder) -> dict[str, Any]:
    if isinstance(model, TableModel):
        parts = {name: encoder.encode(getattr(model, name), name) for name in _TABLE_PARTS}
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
            content, arrays = _read_archive(path)
        model = _rebuild(content, arrays)
        expected = Decoder(arrays).decode(content["probe"])
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be loaded: {error}.") from None
    except FileError:
        raise
    # Whatever a damaged file makes the decoder stumble over.
    except Exception as error:
        raise ModelFileError(f"{path} cannot be loaded: it is damaged ({type(error).__name__}).") from None
    _check_probe(model, expected, content.get("made_with"), path)
    return model


def load_table_model(path: str | os.PathLike[str] | TableModel) -> TableModel:
    """The model of a file, which must be one for tables; a model that is loaded already comes back as it is."""
    loaded = path if isinstance(path, TableModel) else load_model(path)
    if not isinstance(loaded, TableModel):
        raise ModelFileError(
            f"{path}: it holds a bare {type(loaded).__name__} without column names; use it from Python by "
            "ldlearn.tables.load_model."
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
    if isinstance(parts["preprocessing"], ColumnTransformer):
        parts["preprocessing"] = from_column_transformer(parts["preprocessing"])
    if not fits(parts, _TABLE_PARTS) or not hasattr(estimator, "predict"):
        raise ModelFileError("its parts are not those of a table model")
    check_facts(parts["facts"], parts["labels"])
    return TableModel(**parts)


def _probe(model: Any) -> dict[str, NDArray[Any]]:
    """What the model says of a few made-up rows: predictions, and degrees if it can enhance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = model.estimator if isinstance(model, TableModel) else model
        if isinstance(model, TableModel) and not model.preprocessing.embedded:  # which is not there at loading
            X = model.transform(_made_up_table(model), JunkCells())
        else:
            X = np.random.default_rng(0).normal(size=(_PROBE_ROWS, int(estimator.n_features_in_)))
        found = {"predict": np.asarray(estimator.predict(X))} if hasattr(estimator, "predict") else {}
        if hasattr(estimator, "enhance"):
            first_two = np.zeros((_PROBE_ROWS, len(estimator.label_names_)))
            # Of a single positive label there would be nothing to recover.
            first_two[:, :2] = 1
            found["enhance"] = np.asarray(estimator.enhance(X, first_two))
        return found


def _made_up_table(model: TableModel) -> Any:
    """Rows with missing, ordinary and unseen values in every column."""
    pandas, numeric = import_pandas(), list(model.numeric)
    numbers = pandas.DataFrame(np.tile([[np.nan], [0.0], [1.0]], len(numeric)), columns=numeric)
    texts = np.array([None, "a value never seen", "0"], dtype=object)
    columns: dict[str, Any] = dict.fromkeys((*model.categorical, *model.texts), texts)
    columns |= dict.fromkeys(model.dates, np.array([None, "not a date", ""], dtype=object))
    return pandas.concat([numbers, pandas.DataFrame(columns)], axis=1)


def _check_probe(model: Any, expected: Any, made_with: Any, path: Path) -> None:
    problem = "other predictions than when it was saved"
    # A model that cannot even predict is told of in the same sentence, with the versions that may be the cause.
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
    # Another processor or BLAS sums in another order; a wrong model is farther off.
    return found.shape == expected.shape and bool(np.allclose(found, expected, rtol=1e-6, atol=1e-9))


def _write_archive(file: IO[bytes], content: dict[str, Any], arrays: list[NDArray[Any]]) -> None:
    """Write JSON values and arrays."""
    digests = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for number, array in enumerate(arrays):
            buffer = io.BytesIO()
            npy_format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
            blob = buffer.getvalue()
            digests.append(hashlib.sha256(blob).hexdigest())
            archive.writestr(zipfile.ZipInfo(_member(number), _FIXED_DATE), blob)
        head = {"format": MAGIC, "version": VERSION, "arrays": digests}
        text = json.dumps(head | content, allow_nan=False, ensure_ascii=False).encode()
        archive.writestr(zipfile.ZipInfo(_CONTENT, _FIXED_DATE), text)
        archive.writestr(zipfile.ZipInfo(_CHECKSUM, _FIXED_DATE), hashlib.sha256(text).hexdigest())


def _read_archive(path: Path) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """The JSON values and arrays of a file.

    Raises
    ------
    ModelFileError
        If it is no model file, comes from a newer version, or is not whole.
    """
    with path.open("rb") as file:
        start = file.read(4)
        if start[:2] in _PICKLE_STARTS:
            raise ModelFileError("it is a pickle, which can run code and is never loaded here")
        if start != b"PK\x03\x04":
            raise ModelFileError("it is no ldlearn model file")
        size = file.seek(0, io.SEEK_END)
        _check_end(file, size)
        try:
            with zipfile.ZipFile(file) as archive:
                return _read_members(archive, size)
        except (zipfile.BadZipFile, EOFError) as error:
            raise ModelFileError(f"it is truncated or damaged ({error})") from None


def _check_end(file: IO[bytes], size: int) -> None:
    """Refuse bytes after the last record of the zip, which readers of zips look for from the end and may skip."""
    file.seek(max(0, size - _END_RECORD))
    end = file.read()
    if _END_SIGNATURE not in end:
        file.seek(max(0, size - _LONGEST_COMMENT))
        problem = "has bytes after its end" if _END_SIGNATURE in file.read() else "is truncated or damaged"
        raise ModelFileError(f"it {problem}")
    if not end.startswith(_END_SIGNATURE):  # its last record has begun and is not complete
        raise ModelFileError("it is truncated or damaged")
    if not end.endswith(b"\0\0"):  # the length of a comment, which no model has
        raise ModelFileError("it has bytes after its end")


def _read_members(archive: zipfile.ZipFile, size: int) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    members = archive.infolist()
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise ModelFileError(f"its member {member.filename!r:.60} is compressed or encrypted; no model file is")
    # Readers of zips put up with anything before the first member.
    if members and members[0].header_offset != 0:
        raise ModelFileError("it has bytes that belong to no part of it")
    # Members that share bytes are how a small zip announces a large content.
    if sum(member.file_size for member in members) > size or len({m.filename for m in members}) < len(members):
        raise ModelFileError("its members overlap or announce more bytes than the file has")
    # Before its checksum is compared: a file of a newer version is to be told as such.
    content, text = _read_content(archive)
    if _read(archive, _CHECKSUM, 64) != hashlib.sha256(text).hexdigest().encode():
        raise ModelFileError("its checksum is wrong: it was changed or damaged after it was saved")
    digests = content.get("arrays")
    if not isinstance(digests, list) or len(members) != len(digests) + 2:
        raise ModelFileError("it does not hold the arrays that it lists")
    return content, [_read_array(archive, number, digest) for number, digest in enumerate(digests)]


def _read_content(archive: zipfile.ZipFile) -> tuple[dict[str, Any], bytes]:
    text = _read(archive, _CONTENT, _LARGEST_JSON)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ModelFileError(f"its {_CONTENT} is no JSON") from None
    if not isinstance(content, dict) or content.get("format") != MAGIC:
        raise ModelFileError("it is no ldlearn model file")
    version = content.get("version")
    # To Python True is an int.
    if type(version) is not int or version < 1:
        raise ModelFileError(f"its format version is {version!r:.40}, which never existed")
    if version > VERSION:
        raise ModelFileError(
            f"it was written by a newer ldlearn (format {version}, this one reads up to {VERSION}); upgrade ldlearn"
        )
    return content, text


def _read(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    try:
        member = archive.getinfo(name)
    except KeyError:
        raise ModelFileError(f"it has no {name}, so it is no ldlearn model file") from None
    if member.file_size > most:
        raise ModelFileError(f"its {name} has {member.file_size:,} bytes, more than any model needs")
    with archive.open(member) as file:
        return file.read(member.file_size)


def _read_array(archive: zipfile.ZipFile, number: int, digest: Any) -> NDArray[Any]:
    # Arrays may be as large as the file, which bounds them already.
    blob = _read(archive, _member(number), 1 << 62)
    if hashlib.sha256(blob).hexdigest() != digest:
        raise ModelFileError("its checksum is wrong: an array was changed or damaged after it was saved")
    try:
        return read_array(io.BytesIO(blob), len(blob), kinds="biufcU")
    except (TableError, ValueError) as error:
        raise ModelFileError(f"it holds an array that cannot be read: {str(error).rstrip('.')}") from None


def _member(number: int) -> str:
    return f"arrays/{number}.npy"
