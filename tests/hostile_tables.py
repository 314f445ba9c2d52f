"""Small files that announce, or unpack to, far more than they hold; one or more for every format
that is read.

``CASES`` maps a name, whose ending is the format, to a function that writes the file. `measure`
runs commands on files in one process and reports what each of them takes.
"""

import gzip
import io
import json
import struct
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np

MEGABYTE = 1 << 20


def text(content):
    return lambda path: path.write_text(content())


def gzipped(content):
    return lambda path: path.write_bytes(gzip.compress(content(), 9))


def npy(shape, dtype="<f8", content=b""):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return buffer.getvalue() + content


def archive(**members):
    def write(path):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in members.items():
                file.writestr(name.replace("__", "/"), content() if callable(content) else content)

    return write


def npz(**arrays):
    return archive(**{f"{name}.npy": content for name, content in arrays.items()})


def sparse_npz(shape, n_rows):
    parts = {
        "data": np.ones(1),
        "indices": np.zeros(1, "i4"),
        "format": np.array(b"csr"),
        "shape": np.array(shape),
    }
    parts |= {"indptr": np.append(0, np.ones(n_rows, "i4")), "Y": np.ones((n_rows, 2))}
    return lambda path: np.savez_compressed(path, **parts)


def parquet(make, **options):
    def write(path):
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(make(pa), path, **options)

    return write


def feather(make, compression="zstd"):
    def write(path):
        import pyarrow as pa
        from pyarrow import ipc

        options = ipc.IpcWriteOptions(compression=compression)
        table = make(pa)
        with ipc.new_file(str(path), table.schema, options=options) as writer:
            writer.write(table)

    return write


def one_text(pa, rows=100_000, length=200_000):
    indices = pa.array(np.zeros(rows, "i4"))
    texts = pa.DictionaryArray.from_arrays(indices, pa.array(["word " * (length // 5)]))
    return pa.table(
        {
            "x": texts,
            "y": np.arange(rows) % 7,
            "a": np.arange(rows) % 2,
            "b": 1 - np.arange(rows) % 2,
        }
    )


def long_lists(pa, rows=100, length=1_000_000):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(rows * length)), length).cast(
        pa.list_(pa.float64())
    )
    return pa.table({"x": lists, "a": np.arange(rows) % 2, "b": np.ones(rows)})


def label_lists(pa, rows=50_000):
    texts = (
        pa.array(["word " * 20_000] * 2).dictionary_encode().take(pa.array(np.zeros(rows, "i4")))
    )
    lists = pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype="i4")), texts)
    return pa.table({"x": np.arange(rows) % 7, "a": lists})


def nulls(pa, rows=2_000_000_000):
    return pa.record_batch({name: pa.nulls(rows) for name in "xab"})


def run_ends(pa, rows=2_000_000_000):
    values = pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), pa.array([1.0]))
    return pa.record_batch([values] * 3, names=["x", "a", "b"])


def views(pa, rows=100_000):
    long = "word " * 40_000
    head = struct.pack("<i4sii", len(long), long[:4].encode(), 0, 0)
    buffers = [None, pa.py_buffer(head * rows), pa.py_buffer(long.encode())]
    texts = pa.Array.from_buffers(pa.string_view(), rows, buffers)
    return pa.record_batch(
        {"x": texts, "a": pa.array(np.arange(rows) % 2), "b": pa.array(np.ones(rows))}
    )


def mat5(*arrays, compress=True):
    """MATLAB 5: name, shape, and bytes that are stored as the type 2 (u1) of a matrix of
    doubles."""

    def element(kind, content):
        return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)

    def write(path):
        elements = b""
        for name, shape, content in arrays:
            body = element(6, struct.pack("<II", 6, 0)) + element(
                5, struct.pack(f"<{len(shape)}i", *shape)
            )
            matrix = element(14, body + element(1, name.encode()) + element(2, content))
            packed = zlib.compress(matrix, 9)
            elements += struct.pack("<II", 15, len(packed)) + packed if compress else matrix
        path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + elements)

    return write


def hdf5(fill):
    def write(path):
        import h5py

        with h5py.File(path, "w", userblock_size=512) as file:
            fill(file)

    return write


def huge_chunk(file):
    file.create_dataset(
        "X", (2, 3), "f8", maxshape=(None, None), chunks=(2, 40_000_000), compression="gzip"
    )
    file["X"][:] = 1
    file["D"] = np.full((2, 3), 0.5)


def many_links(file):
    file["X"] = np.ones((2, 3))
    for k in range(20_000):
        file[f"X{k}"] = file["X"]


def growing_chunk(file):
    """A chunk that unpacks to more than it announces."""
    item = file.create_dataset("X", (2, 3), "f8", chunks=(2, 3), compression="gzip")
    item.id.write_direct_chunk((0, 0), zlib.compress(bytes(600 * MEGABYTE), 9))
    file["D"] = np.full((2, 3), 0.5)


SHEET = (
    "<worksheet "
    'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)
BOOK = (
    '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>{}</sheets></workbook>'
)
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
LINKS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="r1" Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="r2" Type="{RELATIONS}/sharedStrings" '
    f'Target="sharedStrings.xml"/></Relationships>'
)


def workbook(rows, texts="", sheets=1):
    def write(path):
        listed = "".join(f'<sheet name="s{k}" sheetId="{k + 1}" r:id="r1"/>' for k in range(sheets))
        parts = {"xl/workbook.xml": BOOK.format(listed), "xl/_rels/workbook.xml.rels": LINKS}
        parts["xl/worksheets/sheet1.xml"] = SHEET.format(rows() if callable(rows) else rows)
        if texts:
            parts["xl/sharedStrings.xml"] = f"<sst>{texts}</sst>"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in parts.items():
                file.writestr(name, content)

    return write


def wide_arff(count, kind="numeric", rows=""):
    names = "".join(f"@attribute a{j} {kind}\n" for j in range(count))
    return (
        "@relation 'x: -C 2'\n@attribute a {0,1}\n@attribute b {0,1}\n" + names + "@data\n" + rows
    )


def new_keys(count, start="", **fixed):
    lines = (json.dumps(fixed | {f"k{i:07d}": 1}) for i in range(count))
    return start + "\n".join(lines)


def empty_lists(megabytes):
    return '[{"a": [' + "[]," * (megabytes * MEGABYTE // 3) + "0]}]"


CASES = {
    # of the issue
    "text.parquet": parquet(one_text),
    "lists.parquet": parquet(long_lists, compression="zstd"),
    "runs.feather": feather(run_ends, None),
    "nulls.feather": feather(nulls, None),
    "index.svm": text(lambda: "1 999999:1\n"),
    "names.npz": npz(
        X=npy((2, 2), content=bytes(32)),
        D=npy((2, 1), content=bytes(16)),
        feature_names=npy((10**9,), "<U0"),
    ),
    "keys.jsonl": text(lambda: new_keys(100_000, a=1, b=0)),
    "attributes.arff": text(lambda: wide_arff(200_000, rows="{0 1, 5 1}\n" * 50)),
    "columns.jsonl": text(
        lambda: json.dumps({"a": 1, "b": 0} | {f"{k:x}": 1 for k in range(800_000)})
    ),
    # columns
    "commas.csv": text(lambda: "a,b" + "," * 1_500_000 + "\n1,0" + "," * 1_500_000),
    "empty_end.csv": text(
        lambda: "a,b" + "," * 100_000 + "\n" + ("1,0" + "," * 100_000 + "\n") * 20
    ),
    "repeated.csv": text(lambda: ",".join([*(f"c{k}" for k in range(120_000)), "c119999"]) + "\n"),
    "texts.csv": text(
        lambda: (
            ",".join([*(f"c{k}" for k in range(60_000)), "a", "b"])
            + "\n"
            + ("u," * 60_000 + "1,0\n") * 40
        )
    ),
    "short_rows.csv": text(
        lambda: ",".join([*(f"c{k}" for k in range(60_000)), "a", "b"]) + '\n"x"y\n' * 200_000
    ),
    "labels.csv": text(
        lambda: "x,a\n" + "".join(f"{k % 7},t{k % 10_000}|u\n" for k in range(20_500))
    ),
    "long_name.npz": npz(
        **{
            "X" * 60_000: npy((2, 90_000), "<i1", bytes(180_000)),
            "D": npy((2, 1), content=bytes(16)),
        }
    ),
    "zero_rows.npy": lambda path: path.write_bytes(npy((0, 10**12))),
    "lists.feather": feather(lambda pa: long_lists(pa, 20).to_batches()[0]),
    "fixed.feather": feather(
        lambda pa: pa.record_batch(
            {"x" * 9999: pa.array([], pa.list_(pa.int8(), 2**31 - 1)), "a": pa.array([], pa.int8())}
        )
    ),
    # rows and cells
    "zeros.npz": npz(
        X=lambda: npy((40_000, 1000), content=bytes(40_000 * 8000)),
        D=npy((40_000, 1), "<f8", bytes(320_000)),
    ),
    "wide.npz": sparse_npz((100_000, 60_000), 100_000),
    "rows.svm": text(lambda: "1 60000:1\n" + "1\n" * 4_000_000),
    "labels.svm": text(lambda: "".join(f"{k} 1:1\n" for k in range(100_000))),
    "zeros.csv.gz": gzipped(lambda: b"a,b,c\n" + b"1,0,1\n" * 7_000_000),
    "cell.csv.gz": gzipped(lambda: b'a,b,c\n1,0,"' + b"x" * (300 * MEGABYTE)),
    "line.csv.gz": gzipped(lambda: b"a,b,c\n" + b"x" * (300 * MEGABYTE)),
    "late.csv.gz": gzipped(
        lambda: b"a,b,c\n" + b"1,0,x\n" * 300_000 + (b"1,0," + b"x" * 50_000 + b"\n") * 8000
    ),
    "texts.jsonl.gz": gzipped(lambda: (b'{"a":1,"b":0,"x":"' + b"x " * 100_000 + b'"}\n') * 3000),
    "lists.jsonl.gz": gzipped(lambda: b'{"a":[' + b"[]," * (20 * MEGABYTE) + b"0]}"),
    "many_lists.jsonl.gz": gzipped(lambda: (b'{"a":[' + b"[]," * 10_000 + b"0]}\n") * 8000),
    "lists.json": text(lambda: empty_lists(9)),
    "deep.json": text(lambda: '[{"a":' * 90_000),
    "zeros.parquet": parquet(
        lambda pa: pa.table({n: np.zeros(30_000_000) for n in "xab"}), compression="zstd"
    ),
    "rows.parquet": parquet(lambda pa: pa.table({n: pa.nulls(100_000_000) for n in "xab"})),
    "labels.parquet": parquet(label_lists),
    "wide.parquet": parquet(lambda pa: pa.table({f"c{k}": [1.0] for k in range(30_000)})),
    "text.feather": feather(lambda pa: one_text(pa).to_batches()[0]),
    "views.feather": feather(views),
    "zeros.feather": feather(
        lambda pa: pa.record_batch({n: pa.array(np.zeros(30_000_000)) for n in "xab"})
    ),
    "bytes.mat": mat5(("X", (100_000, 1000), bytes(100_000_000)), ("D", (1000, 1), bytes(1000))),
    "many.mat": mat5(*((f"X{k}", (100, 50_000), bytes(5_000_000)) for k in range(60))),
    "shape7.mat": hdf5(
        lambda file: file.create_dataset("X", (10**6, 10**4), "f8", chunks=(1000, 1000))
    ),
    "chunk7.mat": hdf5(huge_chunk),
    "links7.mat": hdf5(many_links),
    "growing7.mat": hdf5(growing_chunk),
    "far.xlsx": workbook(
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c '
        'r="XFD1048576"><v>1</v></c></row>'
    ),
    "wide.xlsx": workbook(lambda: "<row>" + "<c/>" * 10_000 + "</row>" + "<row/>" * 200_000),
    "shared.xlsx": workbook(
        lambda: '<row r="1">' + '<c t="s"><v>0</v></c>' * 9000 + "</row>",
        f"<si><t>{'x' * 30_000}</t></si>",
    ),
    "texts.xlsx": workbook("<row><c><v>1</v></c></row>", "<si><t>a</t></si>" * 9_000_000),
    "sheets.xlsx": workbook(lambda: "<row/>" * 1_000_000, sheets=5000),
    "bomb.xlsx": workbook(lambda: " " * (400 * MEGABYTE)),
    "categories.arff": text(
        lambda: wide_arff(1, "{" + ",".join(f"{k:x}" for k in range(1_400_000)) + "}", "1,0,1\n")
    ),
    "cells.arff": text(lambda: wide_arff(60_000, rows="{0 1}\n" * 900_000)),
    # for import
    "keys.import.jsonl": text(lambda: new_keys(150_000, item=1, label="a")),
    "tasks.import.json": text(
        lambda: json.dumps(
            [
                {"id": k, "annotations": [{"label": "a"}], "data": {f"k{k}": 1}}
                for k in range(60_000)
            ],
            separators=(",", ":"),
        )
    ),
    "labels.import.csv": text(
        lambda: "item,label\n" + "".join(f"{k},{k % 1000}\n" for k in range(800_000))
    ),
    "names.import.json": text(
        lambda: json.dumps(
            [{"label": "a", "n" * 4_000_000: {f"{k}": 1 for k in range(100_000)}}],
            separators=(",", ":"),
        )
    ),
}
DEFAULT = (
    "text.parquet",
    "runs.feather",
    "nulls.feather",
    "index.svm",
    "names.npz",
    "keys.jsonl",
    "attributes.arff",
    "empty_end.csv",
    "long_name.npz",
    "zero_rows.npy",
    "fixed.feather",
    "labels.parquet",
    "views.feather",
    "shape7.mat",
    "far.xlsx",
    "shared.xlsx",
    "tasks.import.json",
    "lists.json",
    "zeros.csv.gz",
    "labels.csv",
)


def command(path):
    """The command that reads a file, and what it is told about the columns."""
    if ".import." in path.name:
        return ["import", str(path), "-o", str(path.with_name("out.csv"))]
    labels = {"npz": "D", "npy": "column0", "mat": "D", "svm": "Y"}.get(path.suffix[1:], "a,b")
    if path.name in ("wide.npz", "labels.parquet", "labels.csv"):
        labels = "Y" if path.suffix == ".npz" else "a"
    return ["fit", str(path), "--labels", labels, "-o", str(path.with_name("out.ldl"))]


def status_megabytes(field):
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[field].split()[0]) // 1024


def measure(folder, names):
    """Print for each file what its command says, how it ends, its CPU seconds, and the peak of its
    memory in MB."""
    import contextlib
    import resource
    import time

    import pyarrow.dataset  # noqa: F401
    import scipy.sparse.linalg  # noqa: F401

    from ldlearn.cli.main import main

    limit = (status_megabytes("VmSize") + 3000) * MEGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for name in names:
        Path("/proc/self/clear_refs").write_text("5")
        before = status_megabytes("VmRSS")
        said, start, code = io.StringIO(), time.process_time(), 0
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            try:
                sys.argv[1:] = command(folder / name)
                main()
            except SystemExit as ended:
                code = ended.code
        found = {
            "name": name,
            "code": code,
            "cpu": time.process_time() - start,
            "peak": status_megabytes("VmHWM") - before,
        }
        print(json.dumps(found | {"said": said.getvalue()[-700:]}), flush=True)


if __name__ == "__main__":
    measure(Path(sys.argv[1]), sys.argv[2:])
