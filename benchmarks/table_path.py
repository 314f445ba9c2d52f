"""What the way from a table to degrees costs beside `pandas.read_csv` and the bare fit.

Three tables: one with 10,000 columns of numbers, one with 200,000 rows of them, one with three columns of texts and 900
values each. Every step runs in a process of its own, on one thread; printed are processor seconds and peak memory, and
the ratios that count, of the first table above all:

    fit      (fit_table - the bare fit) / read_csv        at most 2 is the aim
    predict  predict_table / read_csv

A bare fit is `DLDL().fit` on the arrays; "intervals" is what the model learns from the same arrays when it is saved, so
that `predict --interval` can say how sure it is: part of the way, and printed beside it. The held-out check is a
further fit on most of the rows; it is left out here (holdout=0). Ratios to a `read_csv` of a few milliseconds say
nothing: there only seconds are printed.

    python benchmarks/table_path.py [--small]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LABELS = ["l0", "l1", "l2", "l3"]
PREPARE = (
    "import time, resource, json; import numpy as np, pandas as pd; import ldlearn.tables; from ldlearn import DLDL"
)
ARRAYS = (
    "model = ldlearn.tables.fit_table(data, 'l0:l3', holdout=0); table = pd.read_csv(data);"
    "X, Y = model.transform(table), table[['l0', 'l1', 'l2', 'l3']].to_numpy()"
)
MEANINGFUL = 0.1  # seconds of read_csv, for a ratio to it
STEPS = {
    "read_csv": ("", "pd.read_csv(data)"),
    "bare fit": (ARRAYS, "DLDL().fit(X, Y)"),
    "intervals": (ARRAYS + "; bare = DLDL().fit(X, Y)", "bare.far_from_training(X[:1])"),
    "fit": ("", "ldlearn.tables.fit_table(data, 'l0:l3', folder + '/model.ldl', holdout=0)"),
    "predict": (
        "ldlearn.tables.fit_table(data, 'l0:l3', folder + '/model.ldl', holdout=0)",
        "ldlearn.tables.predict_table(data, folder + '/model.ldl', folder + '/out.csv')",
    ),
}


def make_tables(folder: Path, small: bool) -> dict[str, Path]:
    """The tables as files."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    scale = 10 if small else 1

    def labelled(table: pd.DataFrame, scores: np.ndarray) -> pd.DataFrame:
        Y = (scores + rng.normal(size=scores.shape) > 0).astype(int)
        Y[Y.sum(axis=1) == 0, 0] = 1
        return table.assign(**dict(zip(LABELS, Y.T, strict=True)))

    def numbers(rows: int, columns: int) -> pd.DataFrame:
        X = rng.normal(size=(rows, columns))
        return labelled(pd.DataFrame(X, columns=[f"x{j}" for j in range(columns)]), X[:, :4])

    tables = {"wide": numbers(1000 // scale, 10_000 // scale), "tall": numbers(200_000 // scale, 20)}
    codes = rng.integers(0, 900 // scale, size=(20_000 // scale, 3))
    texts = pd.DataFrame(codes, columns=["street", "product", "agent"]).map("value{}".format)
    tables["texts"] = labelled(texts, rng.normal(size=(900, 4))[codes[:, 0]])
    paths = {title: folder / f"{title}.csv" for title in tables}
    for title, table in tables.items():
        table.to_csv(paths[title], index=False)
    return paths


def measure(data: Path, folder: Path, before: str, step: str) -> dict[str, float]:
    """Processor seconds of a step, and the peak memory of the process that did it, in MB."""
    lines = [
        PREPARE,
        f"data, folder = {str(data)!r}, {str(folder)!r}",
        before,
        "start = time.process_time()",
        step,
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024",
        "print(json.dumps({'seconds': time.process_time() - start, 'peak': peak}))",
    ]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], env=os.environ | threads, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, data in make_tables(folder, "--small" in sys.argv).items():
            print(f"{title}: {data.stat().st_size / 1e6:.1f} MB")
            found = {step: measure(data, folder, *lines) for step, lines in STEPS.items()}
            for step, cost in found.items():
                print(f"  {step:9} {cost['seconds']:8.2f} s {cost['peak']:8.0f} MB")
            seconds, peak = ({step: cost[key] for step, cost in found.items()} for key in ("seconds", "peak"))
            around = seconds["fit"] - seconds["bare fit"]
            print(f"  fit around the bare fit {around:.2f} s")
            if seconds["read_csv"] >= MEANINGFUL:
                parts = {"fit around the bare fit": around, "without intervals": around - seconds["intervals"]}
                parts["predict"] = seconds["predict"]
                ratios = (f"{name} {part / seconds['read_csv']:.2f}" for name, part in parts.items())
                print(f"  by read_csv: {', '.join(ratios)}")
            fit, predict = (peak[step] / peak["read_csv"] for step in ("fit", "predict"))
            print(f"  memory by read_csv: fit {fit:.2f}, predict with the fit before it {predict:.2f}")


if __name__ == "__main__":
    main()
