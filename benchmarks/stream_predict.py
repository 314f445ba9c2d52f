"""Memory and speed of `ldlearn predict` on a table that is larger than the memory it may use.

Rows are generated and piped into the command; nothing is stored. Prints one JSON line for each size
that the table reaches as it grows, with the peak memory of the predicting process so far, and the
growth from the first size to the last: constant memory means next to none, once some 100 MB of
table have been through it.

    python benchmarks/stream_predict.py --megabytes 100 5000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from ldlearn.tables import TableModel, save_model

N_FEATURES = 100
LABELS = [f"label{j}" for j in range(10)]
BLOCK_ROWS = 2000


def make_table(n_rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        rng.normal(size=(n_rows, N_FEATURES)), columns=[f"x{i}" for i in range(N_FEATURES)]
    )
    table["place"] = rng.choice(["coast", "inland", "island"], size=n_rows)
    return table


def make_model(path: Path) -> None:
    table = make_table(500)
    scores = table.to_numpy()[:, : len(LABELS)].astype(float)
    labels = (scores > 0).astype(int)
    labels[:, 0] = 1
    save_model(
        TableModel.fit(table.assign(**dict(zip(LABELS, labels.T, strict=True))), LABELS), path
    )


def stream(model: Path, sizes: list[float]) -> Iterator[dict[str, float]]:
    """Pipe a table through the command and report its peak memory at each of the sizes."""
    header, _, block = make_table(BLOCK_ROWS).to_csv(index=False).encode().partition(b"\n")
    command = [sys.executable, "-m", "ldlearn.cli", "predict", "-", "--model", str(model)]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    sent, rows = process.stdin.write(header + b"\n"), 0
    for size in sizes:
        while sent < size * 1e6:
            sent += process.stdin.write(block)
            rows += BLOCK_ROWS
        peak = _peak_so_far(process)
        seconds = time.perf_counter() - started
        yield {
            "megabytes": round(sent / 1e6, 1),
            "rows": rows,
            "peak_megabytes": round(peak / 1e6, 1),
            "seconds": round(seconds, 2),
            "megabytes_per_second": round(sent / 1e6 / seconds, 1),
        }
    process.stdin.close()
    if code := process.wait():
        raise SystemExit(f"the command failed with exit code {code}")


def _peak_so_far(process: subprocess.Popen[bytes]) -> int:
    """Peak memory of a running process in bytes; the value after its end would include that of the
    parent."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--megabytes", type=float, nargs="+", default=[100, 5000], help="sizes of the tables"
    )
    sizes = sorted(parser.parse_args().megabytes)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.ldl"
        make_model(model)
        for line in stream(model, sizes):
            found.append(line)
            print(json.dumps(line), flush=True)
    growth = found[-1]["peak_megabytes"] - found[0]["peak_megabytes"]
    print(
        json.dumps(
            {"growth_megabytes": round(growth, 1), "size_ratio": round(sizes[-1] / sizes[0], 1)}
        )
    )


if __name__ == "__main__":
    main()
