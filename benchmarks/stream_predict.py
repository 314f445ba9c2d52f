"""Memory and speed of `ldlearn predict` on a table that is larger than the memory it may use.

Rows are generated and piped into the command; nothing is stored. Prints one JSON line per size, with the peak memory of
the predicting process, and the growth from the smallest size to the largest: constant memory means next to none.

    python benchmarks/stream_predict.py --megabytes 100 5000
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from ldlearn.models import TableModel, save_model

N_FEATURES = 100
LABELS = [f"label{j}" for j in range(10)]
BLOCK_ROWS = 2000


def make_table(n_rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n_rows, N_FEATURES)), columns=[f"x{i}" for i in range(N_FEATURES)])
    table["place"] = rng.choice(["coast", "inland", "island"], size=n_rows)
    return table


def make_model(path: Path) -> None:
    table = make_table(500)
    scores = table.to_numpy()[:, : len(LABELS)].astype(float)
    labels = (scores > 0).astype(int)
    labels[:, 0] = 1
    save_model(TableModel.fit(table.assign(**dict(zip(LABELS, labels.T, strict=True))), LABELS), path)


def stream(model: Path, n_bytes: int) -> dict[str, float]:
    """Pipe so many bytes through the command and read its peak memory from the kernel."""
    header, _, block = make_table(BLOCK_ROWS).to_csv(index=False).encode().partition(b"\n")
    words = [sys.executable, "-m", "ldlearn.cli", "predict", "-", "--model", str(model)]
    started = time.perf_counter()
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    sent = process.stdin.write(header + b"\n")
    while sent < n_bytes:
        process.stdin.write(block)
        sent += len(block)
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(f"the command failed with exit code {process.returncode}")
    rows = (sent - len(header)) // len(block) * BLOCK_ROWS
    return {
        "megabytes": round(sent / 1e6, 1),
        "rows": rows,
        "peak_megabytes": round(usage.ru_maxrss * 1024 / 1e6, 1),
        "seconds": round(seconds, 2),
        "megabytes_per_second": round(sent / 1e6 / seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[100, 5000], help="sizes of the tables")
    sizes = parser.parse_args().megabytes
    found = []
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.ldl"
        make_model(model)
        for size in sizes:
            found.append(stream(model, int(size * 1e6)))
            print(json.dumps(found[-1]), flush=True)
    growth = found[-1]["peak_megabytes"] - found[0]["peak_megabytes"]
    print(json.dumps({"growth_megabytes": round(growth, 1), "size_ratio": round(sizes[-1] / sizes[0], 1)}))


if __name__ == "__main__":
    main()
