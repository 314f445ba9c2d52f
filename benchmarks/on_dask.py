"""DLDL on a Dask cluster of this machine: time, memory and quality of fits past a worker's memory,
and a cost model.

``python benchmarks/on_dask.py fit 10000000 --workers 2 --memory 2GB`` fits rows that are generated
block by block on the workers, ``--features`` 100 and ``--labels`` 10 by default, the weights given
(``--chosen`` lets DLDL choose them), and scores the recovered degrees and the predictions against
the truth, beside the baselines.

``python benchmarks/on_dask.py model`` fits the cost model of docs/dask.md on runs at three sizes,
checks it on a fourth, and says what it predicts for 1e9 rows on 100 workers. ``--shrink K`` divides
all numbers of rows by K, to try the script.

Both keep what they measured in benchmarks/on_dask.json and write benchmarks/scale.md from it.
Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
from scipy.optimize import nnls

from ldlearn import dask as ld
from ldlearn.core import normalize_rows, softmax

HERE = Path(__file__).parent
STORED, PAGE = HERE / "on_dask.json", HERE / "scale.md"
WEIGHTS = {"beta": 1.0, "gamma": 3.0}
RATERS = 20
GIGABYTE = 2.0**30
# Runs that the model is fitted on, at three sizes, and the one that it is checked on: rows,
# features, labels, block.
FITTED = [
    (100_000, 100, 10, 5_000),
    (100_000, 100, 10, 50_000),
    (200_000, 50, 30, 20_000),
    (400_000, 100, 10, 20_000),
]
CHECKED = (1_000_000, 100, 10, 50_000)
FAR = {"rows": 10**9, "features": 100, "labels": 10, "block": 10**6, "workers": 100}


# Functions of the workers: a block is determined by the position of its first row.


def block_of_features(block_info: Any = None) -> np.ndarray:
    (first, last), (_, m) = block_info[None]["array-location"]
    return np.random.default_rng(first).standard_normal((last - first, m), dtype=np.float32)


def true_degrees(X: np.ndarray, c: int) -> np.ndarray:
    directions = np.random.default_rng(2**40).standard_normal((X.shape[1], c)) / np.sqrt(X.shape[1])
    return softmax(2.0 * (X @ directions))


def votes(X: np.ndarray, c: int) -> np.ndarray:
    """Labels with at least one of about twenty votes; the largest degree always has one."""
    D = true_degrees(X, c)
    seed = int.from_bytes(X[0, 0].tobytes())  # reproducible on every worker
    Y = np.random.default_rng(seed).poisson(RATERS * D) > 0
    Y[np.arange(len(Y)), D.argmax(axis=1)] = True
    return Y


def intersections(
    X: np.ndarray, Y: np.ndarray, D: np.ndarray, model: Any, mean: np.ndarray
) -> np.ndarray:
    """Sums over rows of the intersection with the truth, for recovery, prediction and baselines."""
    truth = true_degrees(X, Y.shape[1])
    prior = normalize_rows(Y * mean)
    rows = (
        D,
        normalize_rows(Y.astype(float)),
        prior,
        model.predict(X),
        np.broadcast_to(mean, truth.shape),
    )
    return np.array([[np.minimum(truth, guess).sum() for guess in rows]])


def peak_memory() -> float:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


# Functions of this process.


def collections(n: int, m: int, c: int, block: int) -> tuple[Any, Any]:
    rows = (block,) * (n // block) + ((n % block,) if n % block else ())
    X = da.map_blocks(
        block_of_features, chunks=(rows, (m,)), dtype=np.float32, meta=np.empty((0, 0), np.float32)
    )
    return X, X.map_blocks(votes, c, chunks=(rows, (c,)), dtype=bool, meta=np.empty((0, 0), bool))


def measured_fit(
    n: int, m: int, c: int, block: int, workers: int, memory: str, chosen: bool
) -> dict[str, Any]:
    X, Y = collections(n, m, c, block)
    options = {
        "n_workers": workers,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
    }
    with (
        distributed.LocalCluster(**options, memory_limit=memory) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(np.random.default_rng)  # all workers have started
        start = time.perf_counter()
        model = ld.DaskDLDL(**({} if chosen else WEIGHTS), client=client).fit(X, Y)
        seconds = time.perf_counter() - start
        cpu = sum(client.run(time.process_time).values())
        peaks = client.run(peak_memory)
        found = {
            **{
                "rows": n,
                "features": m,
                "labels": c,
                "block": block,
                "workers": workers,
                "memory": memory,
            },
            "chosen": chosen,
            "seconds": seconds,
            "worker_cpu": cpu,
            "rounds": model.n_rounds_,
            "n_iter": model.n_iter_,
            "converged": model.converged_,
            "worker_peak": max(peaks.values()),
            "client_peak": peak_memory(),
            "quality": quality(model, X, Y),
        }
    print(json.dumps(found), flush=True)
    return found


def quality(model: Any, X: Any, Y: Any) -> dict[str, float]:
    local = model.to_local(training_rows=False)
    n, c = Y.shape
    shares = Y.map_blocks(
        lambda Y: normalize_rows(Y.astype(float)).sum(axis=0, keepdims=True), dtype=float
    )
    mean = dask.delayed(lambda total: np.asarray(total).reshape(-1, c).sum(axis=0) / n)(
        list(shares.to_delayed().ravel())
    )
    blocks = zip(*(A.to_delayed().ravel() for A in (X, Y, model.label_distributions_)), strict=True)
    sums = [dask.delayed(intersections)(*block, local, mean) for block in blocks]
    total = dask.delayed(lambda parts: np.concatenate(parts).sum(axis=0) / n)(sums).compute()
    names = ("recovered", "uniform baseline", "prior baseline", "predicted", "mean baseline")
    return dict(zip(names, map(float, total), strict=True))


def work(run: dict[str, Any]) -> np.ndarray:
    """Terms of the cost model: rounds, tasks, features read and labels predicted by one worker."""
    rows, blocks = run["rows"] / run["workers"], -(-run["rows"] // run["block"])
    return run["rounds"] * np.array([1.0, blocks, rows * run["features"], rows * run["labels"]])


def cost_model(shrink: int) -> dict[str, Any]:
    sizes = [(n // shrink, m, c, block // shrink) for n, m, c, block in (*FITTED, CHECKED)]
    runs = [measured_fit(*size, workers=2, memory="4GB", chosen=False) for size in sizes]
    A, seconds = np.array([work(run) for run in runs]), np.array([run["seconds"] for run in runs])
    scale = A[:-1].max(axis=0)
    # Relative errors, so that short and long runs have the same weight.
    found, _ = nnls(A[:-1] / scale / seconds[:-1, None], np.ones(len(A) - 1))
    coefficients = found / scale
    far = {**FAR, "rounds": runs[-1]["rounds"]}
    return {
        "coefficients": dict(
            zip(("round", "task", "feature", "label"), coefficients.tolist(), strict=True)
        ),
        "runs": [
            {**run, "modelled": float(s)} for run, s in zip(runs, A @ coefficients, strict=True)
        ],
        "far": {**far, "seconds": float(work(far) @ coefficients)},
    }


def machine() -> str:
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIGABYTE
    return (
        f"{os.cpu_count()} cores, {gigabytes:.0f} GB, Python {platform.python_version()}, Dask "
        f"{dask.__version__}"
    )


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *rows)]


def page(stored: dict[str, Any]) -> str:
    lines = [
        "# Past one machine",
        "",
        "Written by `benchmarks/on_dask.py` from `benchmarks/on_dask.json`.",
        "",
    ]
    for run in stored.get("fits", {}).values():
        q, gigabytes = run["quality"], run["rows"] * run["features"] * 4 / 1e9
        how = (
            "weights chosen by DLDL"
            if run["chosen"]
            else f"beta={WEIGHTS['beta']:g}, gamma={WEIGHTS['gamma']:g}"
        )
        lines += [
            f"## {run['rows']:,} x {run['features']} x {run['labels']}, "
            f"float32 ({gigabytes:.2g} GB)",
            "",
        ]
        where = f"{run['workers']} workers of {run['memory']}, blocks of {run['block']:,} rows"
        lines += [f"On {where}, {how}; {run['machine']}.", ""]
        lines += table(
            ["time", "CPU of the workers", "rounds", "largest worker", "this process", "converged"],
            [
                [
                    f"{run['seconds']:.0f} s",
                    f"{run['worker_cpu']:.0f} s",
                    str(run["rounds"]),
                    f"{run['worker_peak'] / GIGABYTE:.2f} GB",
                    f"{run['client_peak'] / GIGABYTE:.2f} GB",
                    str(run["converged"]),
                ]
            ],
        )
        lines += ["", "Mean intersection with the true degrees, of all rows:", ""]
        lines += [*table(list(q), [[f"{value:.4f}" for value in q.values()]]), ""]
    if "model" in stored:
        lines += model_page(stored["model"])
    return "\n".join(lines)


def model_page(model: dict[str, Any]) -> list[str]:
    k, far = model["coefficients"], model["far"]
    lines = ["## The cost model", "", "The last run was not used to find the coefficients.", ""]
    lines += table(
        ["rows", "features", "labels", "block", "rounds", "measured", "modelled"],
        [
            [
                *(f"{run[name]:,}" for name in ("rows", "features", "labels", "block", "rounds")),
                *(f"{run[name]:.1f} s" for name in ("seconds", "modelled")),
            ]
            for run in model["runs"]
        ],
    )
    each = f"A round {1e3 * k['round']:.3g} ms, a task {1e3 * k['task']:.3g} ms"
    row = (
        f"a feature of a row {1e9 * k['feature']:.3g} ns, a label of a row "
        f"{1e9 * k['label']:.3g} ns"
    )
    size = f"{far['rows']:,} x {far['features']} x {far['labels']} on {far['workers']} such workers"
    how = f"blocks of {far['block']:,} rows, {far['rounds']} rounds"
    predicted = f"Predicted for {size}, {how}: {far['seconds'] / 60:.0f} minutes. Not measured."
    return [*lines, "", f"{each}, {row}; {model['machine']}.", "", predicted, ""]


def store(change: dict[str, Any]) -> None:
    stored = json.loads(STORED.read_text()) if STORED.is_file() else {}
    stored |= {**change, "fits": {**stored.get("fits", {}), **change.get("fits", {})}}
    STORED.write_text(json.dumps(stored, indent=1) + "\n")
    PAGE.write_text(page(stored))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    fit = commands.add_parser("fit")
    fit.add_argument("rows", type=int)
    for name, default in (("features", 100), ("labels", 10), ("block", 20_000), ("workers", 2)):
        fit.add_argument(f"--{name}", type=int, default=default)
    fit.add_argument("--memory", default="2GB")
    fit.add_argument("--chosen", action="store_true")
    commands.add_parser("model").add_argument("--shrink", type=int, default=1)
    asked = parser.parse_args()
    if asked.command == "model":
        store({"model": cost_model(asked.shrink) | {"machine": machine()}})
        return 0
    size = (asked.rows, asked.features, asked.labels, asked.block)
    found = measured_fit(*size, asked.workers, asked.memory, asked.chosen) | {"machine": machine()}
    name = " x ".join(map(str, size[:3])) + (" chosen" if asked.chosen else "")
    store({"fits": {name: found}})
    return 0


if __name__ == "__main__":
    sys.exit(main())
