"""MATLAB files of both kinds: version 5, and version 7.3, which is HDF5."""

from __future__ import annotations

import scipy.io
import scipy.sparse

from ldlearn.exceptions import ParameterError
from ldlearn.tables.arrays import ArraySource, arrays_of
from ldlearn.tables.content import Content
from ldlearn.tables.formats import Format
from ldlearn.tables.mat5 import read_mat5
from ldlearn.tables.mat73 import is_mat73, read_mat73, write_mat73
from ldlearn.tables.sink import Output, WholeSink
from ldlearn.tables.source import Input

_MAT5_LIMIT = 1 << 31  # bytes; MATLAB itself keeps larger arrays in version 7.3 only


def _source(given: Input) -> ArraySource:
    read = read_mat73 if is_mat73(given.path) else read_mat5
    return ArraySource(given, read(given.path, given.max_bytes))


class MatSink(WholeSink):
    """Writes version 5, or 7.3 for arrays that version 5 cannot hold."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        if output.mat_version not in (None, "5", "7.3"):
            raise ParameterError(f"mat_version must be '5' or '7.3', got {output.mat_version!r}.")

    def save(self, content: Content) -> None:
        """See `Sink.save`."""
        self.numbers_only(content)
        size = content.X.data.nbytes if scipy.sparse.issparse(content.X) else content.X.nbytes
        version = self.output.mat_version or ("5" if size < _MAT5_LIMIT else "7.3")
        if version == "7.3":
            write_mat73(self.output.seekable, arrays_of(content))
        else:
            scipy.io.savemat(self.output.seekable, arrays_of(content), do_compression=True)


MAT = Format("a MATLAB file", _source, MatSink)
