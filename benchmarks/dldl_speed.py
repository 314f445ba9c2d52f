"""How fast is DLDL? Everything as a ratio to one LogisticRegression fit in the same run.

``python benchmarks/dldl_speed.py`` prints:

* the time of ``DLDL().fit``, and of DLDL with its graph, over that of
  ``LogisticRegression(max_iter=100)`` on the same features with the largest degree as label;
* how fit time grows with the number of rows, the graph left out;
* the memory a fit needs beyond X, in units of X;
* how many iterations the D-step takes over the paper's whole grid, and how long that grid takes.

Natural Scene is read from a folder beside the repository if it is there.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from sklearn.linear_model import LogisticRegression

from ldlearn import DLDL
from ldlearn.core import binarize
from ldlearn.datasets import make_label_distributions
from ldlearn.joint import dldl_path

NATURAL_SCENE = Path(__file__).resolve().parents[2] / "shared" / "datasets" / "Natural_Scene.mat"
PAPER_GRID = {
    "alpha": [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0],
    "beta": [1e-3, 1e-2, 1e-1, 1.0, 10.0],
    "gamma": [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0],
}


def natural_scene() -> tuple[np.ndarray, np.ndarray]:
    arrays = loadmat(NATURAL_SCENE)
    rows = np.random.default_rng(0).permutation(len(arrays["features"]))[:1200]
    X = arrays["features"].astype(float)[rows]
    D = arrays["label_distribution"].astype(float)[rows]
    return (X - X.mean(axis=0)) / X.std(axis=0), D / D.sum(axis=1, keepdims=True)


def synthetic(n: int) -> tuple[np.ndarray, np.ndarray]:
    data = make_label_distributions(n, 100, 10, random_state=0)
    return np.asarray(data.X, dtype=float), np.asarray(data.D)


def seconds(run: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def compare(name: str, X: np.ndarray, D: np.ndarray, limit: float) -> None:
    Y = binarize(D)
    peer = seconds(lambda: LogisticRegression(max_iter=100).fit(X, D.argmax(axis=1)))
    plain = seconds(lambda: DLDL().fit(X, Y))
    graph = seconds(lambda: DLDL(alpha=0.01).fit(X, Y), repeats=3)
    print(f"{name}: LogisticRegression {peer:.3f} s")
    print(f"  DLDL()                {plain / peer:5.2f} x   (target: at most {limit:g})")
    print(f"  DLDL(alpha=0.01)      {graph / peer:5.2f} x   (with the graph of 20 neighbours)")


def growth() -> None:
    sizes = [5_000, 10_000, 20_000, 40_000]
    X, D = synthetic(sizes[-1])
    Y = binarize(D)
    times = [
        seconds(lambda n=n: DLDL(beta=1.0, tol=1e-6).fit(X[:n], Y[:n]), repeats=3) for n in sizes
    ]
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(
        f"growth of fit time from {sizes[0]} to {sizes[-1]} rows: n^{exponent:.2f}   (target: at "
        f"most n^1.15)"
    )
    print("  " + ", ".join(f"{n}: {t:.2f} s" for n, t in zip(sizes, times, strict=True)))


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def memory(alpha: float) -> None:
    X, D = synthetic(40_000)
    Y = binarize(D)
    DLDL(alpha=alpha).fit(X[:2000], Y[:2000])  # one-time allocations of libraries are not counted
    before, peak, done = resident_bytes(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, resident_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    DLDL(alpha=alpha).fit(X, Y)
    done.set()
    watcher.join()
    ratio = (peak - before) / X.nbytes
    print(
        f"peak extra memory at 40000 x 100, alpha={alpha:g}: {ratio:.1f} times X   "
        "(target: at most 6)"
    )


def whole_grid(X: np.ndarray, D: np.ndarray) -> None:
    start = time.perf_counter()
    models = list(dldl_path(X, binarize(D), **PAPER_GRID))
    wall = time.perf_counter() - start
    steps = np.concatenate([model.n_newton_ for model in models])
    failures = sum(model.gap_.sum() > model.tol * len(X) for model in models)
    print(
        f"the paper's grid, {len(models)} points, {len(steps)} D-steps: {wall:.0f} s in one process"
    )
    print(
        f"  Newton iterations: worst {steps.max()}, median {np.median(steps):g}; not converged: "
        f"{failures}"
    )


def main() -> int:
    warnings.filterwarnings("ignore", category=Warning, module="sklearn")
    compare("synthetic 20000 x 100 x 10", *synthetic(20_000), limit=4.0)
    growth()
    memory(0.0)
    memory(0.01)
    if NATURAL_SCENE.exists():
        X, D = natural_scene()
        compare("Natural Scene 1200 x 294 x 9", X, D, limit=3.0)
        whole_grid(X, D)
    else:
        print("Natural Scene: its file is not on this machine, skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
