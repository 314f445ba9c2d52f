"""What the way from a table to degrees costs beside `pandas.read_csv` and the bare fit.

Two tables: one with 10,000 columns of numbers, one with three columns of texts and 900 values each. Every step runs in
a process of its own, on one thread; printed are processor seconds and peak memory, and the ratios that count:

    fit      (fit_table - the bare fit) / read_csv        at most 2 is the aim
    predict  predict_table / read_csv

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
    "import time, resource, json; import numpy as np, pandas as pd; import ldlearn.models; from ldlearn import DLDL"
)
STEPS = {
    "read_csv": ("", "pd.read_csv(data)"),
    "bare fit": (
        "model = ldlearn.models.fit_table(data, 'l0:l3', holdout=0); table = pd.read_csv(data);"
        "X, Y = model.transform(table), table[['l0', 'l1', 'l2', 'l3']].to_numpy()",
        "DLDL().fit(X, Y)",
    ),
    "fit": ("", "ldlearn.models.fit_table(data, 'l0:l3', folder + '/model.ldl', holdout=0)"),
    "predict": (
        "ldlearn.models.fit_table(data, 'l0:l3', folder + '/model.ldl', holdout=0)",
        "ldlearn.models.predict_table(data, folder + '/model.ldl', folder + '/out.csv')",
    ),
}


def make_tables(folder: Path, small: bool) -> dict[str, Path]:
    """The two tables as files."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    scale = 10 if small else 1

    def labelled(table: pd.DataFrame, scores: np.ndarray) -> pd.DataFrame:
        Y = (scores + rng.normal(size=scores.shape) > 0).astype(int)
        Y[Y.sum(axis=1) == 0, 0] = 1
        return table.assign(**dict(zip(LABELS, Y.T, strict=True)))

    X = rng.normal(size=(1000 // scale, 10_000 // scale))
    wide = labelled(pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), X[:, :4])
    codes = rng.integers(0, 900 // scale, size=(20_000 // scale, 3))
    texts = pd.DataFrame(codes, columns=["street", "product", "agent"]).map("value{}".format)
    paths = {"wide": folder / "wide.csv", "texts": folder / "texts.csv"}
    wide.to_csv(paths["wide"], index=False)
    labelled(texts, rng.normal(size=(900, 4))[codes[:, 0]]).to_csv(paths["texts"], index=False)
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
            around = (seconds["fit"] - seconds["bare fit"]) / seconds["read_csv"]
            print(f"  fit around the bare fit, by read_csv {around:.2f}; memory {peak['fit'] / peak['read_csv']:.2f}")
            predict = seconds["predict"] / seconds["read_csv"], peak["predict"] / peak["read_csv"]
            print(f"  predict by read_csv {predict[0]:.2f}; memory, with the fit before it, {predict[1]:.2f}")


if __name__ == "__main__":
    main()
