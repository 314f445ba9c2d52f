"""Peak memory of reading a 1,000,000 x 100 parquet file, over the size of X; the limit is 2."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# a separate process; its ru_maxrss could be inherited from the parent
READ = """
import re, sys, time
from pathlib import Path
from ldlearn.datasets import read_dataset

def kilobytes(field):
    return int(re.search(field + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

warm, path = sys.argv[1:]
read_dataset(warm)  # imports and memory pools are not counted
Path("/proc/self/clear_refs").write_text("5")  # reset the peak
before, start = kilobytes("VmRSS"), time.perf_counter()
data = read_dataset(path)
print((kilobytes("VmHWM") - before) * 1024, data.X.nbytes, time.perf_counter() - start)
"""


def write_table(
    path: Path, n_rows: int, n_features: int, n_labels: int, rows_per_group: int
) -> None:
    import numpy as np
    import pyarrow
    import pyarrow.parquet

    from ldlearn.datasets import make_label_distributions

    names = [f"x{i}" for i in range(n_features)] + [f"D:label_{j}" for j in range(n_labels)]
    writer = None
    for start in range(0, n_rows, rows_per_group):
        count = min(rows_per_group, n_rows - start)
        block = make_label_distributions(count, n_features, n_labels, random_state=start)
        columns = [pyarrow.array(np.ascontiguousarray(c)) for c in (*block.X.T, *block.D.T)]
        table = pyarrow.table(columns, names=names)
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=count)
    assert writer is not None
    writer.close()


def measure(path: Path, warm: Path) -> tuple[float, float]:
    """Peak memory of a new process that reads the file, over the bytes of X; and its seconds."""
    # Each thread of BLAS has buffers of its own, which depend on the machine.
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", READ, warm, path]
    out = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | one_thread
    )
    peak, size, seconds = map(float, out.stdout.split())
    return peak / size, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        warm = Path(folder) / "warm.parquet"
        write_table(warm, 100, 3, 2, 100)
        for rows_per_group in (options.rows, 100_000):
            path = Path(folder) / "table.parquet"
            write_table(path, options.rows, options.features, 5, rows_per_group)
            ratio, seconds = measure(path, warm)
            print(
                f"{options.rows:,} x {options.features} parquet, row groups of {rows_per_group:,}: "
                f"peak memory "
                f"{ratio:.2f} times X (at most 2), {seconds:.1f} s"
            )


if __name__ == "__main__":
    main()
