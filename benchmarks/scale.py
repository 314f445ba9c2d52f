"""Speed of DLDL on one machine, as ratios to a peer or to bare matrix products in the same run.

``python benchmarks/scale.py`` (``make bench-scale``) prints a table: what was measured, the figure,
the target. Times of a row are taken in turn, each the least of a few runs, so that a busy machine
disturbs all of them alike. The targets are for two idle cores; absolute figures have no targets.
Each part runs in a separate process, whose largest memory is the peak that is printed.

``--part NAME ...`` runs some parts only, ``--shrink K`` divides all numbers of rows by K (to try
the script itself); ``--part neighbours`` fits 1,000,000 rows with approximate neighbours, which is
in no table and takes minutes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

WEIGHTS = {"beta": 1.0, "gamma": 3.0}


def cpu_and_wall(run: Callable[[], Any]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - cpu, time.perf_counter() - wall


def minimum_seconds(*runs: Callable[[], Any], repeats: int = 5) -> list[tuple[float, float]]:
    """CPU and wall seconds of each run: the minimum over alternating repeats."""
    taken = [[cpu_and_wall(run) for run in runs] for _ in range(repeats)]
    return [tuple(np.min([turn[k] for turn in taken], axis=0)) for k in range(len(runs))]


def problem(n: int, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, 0/1 labels and the label of the largest degree: n x 100 x 10, made in pieces."""
    from ldlearn.core import binarize
    from ldlearn.datasets import make_label_distributions

    data = make_label_distributions(min(n, 100_000), 100, 10, random_state=0)
    X, Y, top = np.asarray(data.X, dtype=dtype), binarize(data.D), data.D.argmax(axis=1)
    pieces = -(-n // len(X))
    if pieces == 1:
        return X, Y, top
    noise = np.random.default_rng(1)
    far = [
        X + 0.1 * noise.standard_normal(X.shape, dtype=np.float32).astype(dtype)
        for _ in range(pieces)
    ]
    return np.concatenate(far)[:n], np.tile(Y, (pieces, 1))[:n], np.tile(top, pieces)[:n]


def many_labels(n: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Five positive labels a row, those of the largest noisy scores."""
    rng = np.random.default_rng(0)
    X, directions = (
        rng.standard_normal((n, 100), dtype=np.float32),
        rng.standard_normal((100, c), dtype=np.float32),
    )
    Y = np.zeros((n, c), dtype=bool)
    for start in range(0, n, 500):
        rows = slice(start, start + 500)
        scores = 0.3 * X[rows] @ directions + rng.gumbel(size=(len(X[rows]), c))
        np.put_along_axis(Y[rows], np.argpartition(-scores, 5, axis=1)[:, :5], True, axis=1)
    return X, Y


def ignore_warnings(run: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run()


def fits(n: int) -> None:
    """Fits against LogisticRegression at 20,000 rows."""
    from sklearn.linear_model import LogisticRegression

    from ldlearn import DLDL

    X, Y, top = problem(n)
    runs = [
        lambda: ignore_warnings(lambda: LogisticRegression(max_iter=100).fit(X, top)),
        lambda: DLDL(**WEIGHTS).fit(X, Y),
        lambda: DLDL().fit(X, Y),
        lambda: DLDL(alpha=0.01, **WEIGHTS).fit(X, Y),
    ]
    peer, given, chosen, graph = minimum_seconds(*runs, repeats=3)
    report("fit over LogisticRegression, 20,000 x 100 x 10", given, peer, "<= 1.0")
    report("the same, weights chosen by DLDL itself", chosen, peer, "<= 2.0")
    report("the same with a graph, exact neighbours", graph, peer, "<= 3.0")


def products(n: int) -> None:
    """CPU of a fit over the CPU of its products with X."""
    from ldlearn import DLDL
    from ldlearn.joint import dldl

    X, Y, _ = problem(n, np.float32)
    made, solve = [], dldl.softmax_regression

    def counted(*args: Any, **options: Any) -> Any:
        fit = solve(*args, **options)
        made.append(fit.n_products)
        return fit

    dldl.softmax_regression = counted
    W = np.random.default_rng(0).standard_normal((100, 10), dtype=np.float32)
    fit, product = minimum_seconds(
        lambda: DLDL(**WEIGHTS).fit(X, Y), lambda: [X @ W for _ in range(10)], repeats=2
    )
    dldl.softmax_regression = solve
    count = sum(made) // 2
    ratio = fit[0] / (count * product[0] / 10)
    print_row(
        f"CPU of fit over its {count} products with X, 200,000 x 100 x 10",
        f"{ratio:.1f}",
        "<= 4",
        cpu=fit[0],
    )


def predictions(n: int) -> None:
    """Predict against the bare product and softmax."""
    from ldlearn import DLDL

    X, Y, _ = problem(n, np.float32)
    model = DLDL(**WEIGHTS).fit(X[:2000], Y[:2000])
    W, b = model.coef_.T.astype(np.float32), model.intercept_.astype(np.float32)

    def bare() -> np.ndarray:
        Z = X @ W
        Z += b
        Z -= Z.max(axis=1, keepdims=True)
        np.exp(Z, out=Z)
        Z /= Z.sum(axis=1, keepdims=True)
        return Z

    ours, theirs = minimum_seconds(lambda: model.predict(X), bare)
    report(
        "predict over the bare product and softmax, 1,000,000 rows, float32",
        ours,
        theirs,
        "<= 1.25",
    )


def large(n: int) -> None:
    """A million rows."""
    from ldlearn import DLDL

    X, Y, _ = problem(n, np.float32)
    for name, model, target in (("", DLDL(**WEIGHTS), "<= 30 s"), (", DLDL()", DLDL(), "<= 45 s")):
        cpu, wall = cpu_and_wall(lambda model=model: model.fit(X, Y))
        print_row(f"1,000,000 x 100 x 10, float32{name}: wall", f"{wall:.1f} s", target, cpu=cpu)


def growth(n: int) -> None:
    """How fit time grows from a fiftieth of the rows to all."""
    from ldlearn import DLDL

    X, Y, _ = problem(n, np.float32)
    sizes = [n // 50, n // 10, n]
    walls = [
        minimum_seconds(lambda k=k: DLDL(**WEIGHTS).fit(X[:k], Y[:k]), repeats=2)[0][1]
        for k in sizes
    ]
    exponent = np.polyfit(np.log(sizes), np.log(walls), 1)[0]
    print_row("growth exponent of fit, 20,000 to 1,000,000 rows", f"{exponent:.2f}", "<= 1.1")


def thousand(n: int) -> None:
    """A thousand labels."""
    _many(n, 1_000, "<= 15 CPU s, < 1 GB")


def ten_thousand(n: int) -> None:
    """Ten thousand labels."""
    _many(n, 10_000, "<= 3 min, < 4 GB")


def _many(n: int, c: int, target: str) -> None:
    from ldlearn import DLDL

    X, Y = many_labels(n, c)
    cpu, wall = cpu_and_wall(lambda: DLDL(**WEIGHTS).fit(X, Y))
    print_row(f"20,000 x 100, {c:,} labels, five positive: wall", f"{wall:.1f} s", target, cpu=cpu)


def neighbours(n: int) -> None:
    """A graph of approximate neighbours: exact ones of eight principal components, of rows near a
    manifold."""
    from sklearn.decomposition import PCA
    from sklearn.neighbors import KNeighborsTransformer
    from sklearn.pipeline import make_pipeline

    from ldlearn import DLDL
    from ldlearn.core import binarize
    from ldlearn.datasets import make_label_distributions

    data = make_label_distributions(n, 100, 10, manifold_dim=6, random_state=0, dtype=np.float32)
    X, Y = data.X, binarize(data.D)
    near = make_pipeline(PCA(8, random_state=0), KNeighborsTransformer(n_neighbors=20, n_jobs=-1))
    graphs: list[Any] = []
    cpu, wall = cpu_and_wall(lambda: graphs.append(near.fit_transform(X)))
    print_row(
        f"{n:,} x 100, 20 neighbours by 8 principal components: wall", f"{wall:.0f} s", "", cpu=cpu
    )
    model = DLDL(alpha=0.01, **WEIGHTS, neighbors=graphs[0])
    cpu, wall = cpu_and_wall(lambda: model.fit(X, Y))
    print_row("fit with that graph, 10 labels: wall", f"{wall:.0f} s", "", cpu=cpu)
    print_row(
        "of the 20 nearest rows of a row, joined with it",
        f"{neighbour_recall(X, model.graph_, 20):.0%}",
        "",
    )


def neighbour_recall(X: np.ndarray, graph: Any, k: int, sample: int = 200) -> float:
    """The fraction of the k nearest neighbours that are edges of the graph, for a sample of
    rows."""
    rows = np.random.default_rng(0).choice(len(X), sample, replace=False)
    squares = np.einsum("ij,ij->i", X, X)
    joined = 0
    for row in rows:
        far = squares - 2.0 * (X @ X[row])
        far[row] = np.inf
        joined += np.isin(np.argpartition(far, k)[:k], graph[[row]].indices).sum()
    return joined / (sample * k)


# Name, the function, rows at full size, whether it belongs to the table.
PARTS: dict[str, tuple[Callable[[int], None], int, bool]] = {
    "fits": (fits, 20_000, True),
    "products": (products, 200_000, True),
    "predictions": (predictions, 1_000_000, True),
    "large": (large, 1_000_000, True),
    "growth": (growth, 1_000_000, True),
    "thousand": (thousand, 20_000, True),
    "ten_thousand": (ten_thousand, 20_000, True),
    "neighbours": (neighbours, 1_000_000, False),
}


def report(name: str, ours: tuple[float, float], theirs: tuple[float, float], target: str) -> None:
    ratios = f"{ours[1] / theirs[1]:.2f} wall, {ours[0] / theirs[0]:.2f} CPU"
    print_row(name, ratios, target, cpu=ours[0], wall=ours[1])


def print_row(name: str, figure: str, target: str, **seconds: float) -> None:
    """Print one row as JSON for the parent process."""
    print(
        json.dumps({"name": name, "figure": figure, "target": target, "seconds": seconds}),
        flush=True,
    )


def measured(part: str, shrink: int) -> list[dict[str, Any]]:
    """The rows of a part, measured in a separate process, with its peak memory."""
    command = [sys.executable, __file__, "--inside", part, "--shrink", str(shrink)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def run_part(part: str, shrink: int) -> None:
    run, n, _ = PARTS[part]
    run(max(n // shrink, 200))
    print(json.dumps({"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--part", nargs="+", choices=PARTS, default=[name for name in PARTS if PARTS[name][2]]
    )
    parser.add_argument("--shrink", type=int, default=1)
    parser.add_argument("--inside", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        run_part(options.inside, options.shrink)
        return 0
    if options.shrink > 1:
        print(f"Numbers of rows divided by {options.shrink}: these figures are no measurement.")
    for part in options.part:
        *rows, end = measured(part, options.shrink)
        for row in rows:
            seconds = ", ".join(f"{value:.2f} s {kind}" for kind, value in row["seconds"].items())
            print(
                f"{row['name']}: {row['figure']}   (target {row['target'] or 'none'}; {seconds})",
                flush=True,
            )
        print(f"  {part}: peak memory {end['peak']:.2f} GB, data included", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
