"""The cost of reading, preprocessing and writing tables, in units of `pandas.read_csv` on the same
file.

    wide  1,000 rows x 10,000 columns: (predict_table - bare prediction) / read_csv, at most 1.5
    tall  200,000 rows x 20 columns:   (fit_table - bare fit) / read_csv, at most 2

Every table is worked on in a process of its own, on one thread; of five runs the fastest counts, in
processor seconds. A bare fit is `DLDL().fit` on the arrays; no rows are held out. The exit code is
1 if a ratio is more than twice its limit.

    python benchmarks/table_path.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

LABELS = ["l0", "l1", "l2", "l3"]
FIT = (
    "model = ldlearn.tables.fit_table(data, 'l0:l3', holdout=0); "
    "ldlearn.tables.save_model(model, folder + '/model.ldl')"
)
ARRAYS = (
    "table = pd.read_csv(data); X, Y = model.transform(table), table[['l0', 'l1', 'l2', "
    "'l3']].to_numpy()"
)
# name: rows, columns, limit of the ratio, what is done before, the step, the bare step
CASES = {
    "wide": (
        1000,
        10_000,
        1.5,
        [FIT, ARRAYS],
        "ldlearn.tables.predict_table(data, folder + '/model.ldl', folder + '/out.csv')",
        "model.estimator.predict(X)",
    ),
    "tall": (200_000, 20, 2.0, [FIT, ARRAYS], FIT, "DLDL().fit(X, Y)"),
}


def write_table(path: Path, n_rows: int, n_columns: int) -> None:
    """A table of normal numbers with four labels that depend on the first four columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    Y = (X[:, :4] + rng.normal(size=(n_rows, 4)) > 0).astype(int)
    Y[Y.sum(axis=1) == 0, 0] = 1
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(n_columns)])
    pd.concat([table, pd.DataFrame(Y, columns=LABELS)], axis=1).to_csv(path, index=False)


def measure(data: Path, folder: Path, before: list[str], steps: list[str]) -> list[float]:
    """Processor seconds of each step, the least of five runs."""
    script = [
        "import time, json; import pandas as pd; import ldlearn.tables; from ldlearn import DLDL",
        f"data, folder = {str(data)!r}, {str(folder)!r}",
        *before,
        "def seconds(step):",
        "    start = time.process_time()",
        "    exec(step, globals())",
        "    return time.process_time() - start",
        f"print(json.dumps([min(seconds(step) for _ in range(5)) for step in {steps!r}]))",
    ]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, "-W", "ignore", "-c", "\n".join(script)]
    done = subprocess.run(
        command, env=os.environ | threads, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    failed = False
    with tempfile.TemporaryDirectory() as name:
        for title, (n_rows, n_columns, limit, before, step, bare) in CASES.items():
            data = Path(name) / f"{title}.csv"
            write_table(data, n_rows, n_columns)
            read, whole, part = measure(data, Path(name), before, ["pd.read_csv(data)", step, bare])
            ratio = (whole - part) / read
            print(f"{title}: read_csv {read:.2f} s, whole {whole:.2f} s, bare {part:.2f} s")
            print(f"{title}: ratio {ratio:.2f}, limit {limit}")
            failed |= ratio > 2 * limit
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
