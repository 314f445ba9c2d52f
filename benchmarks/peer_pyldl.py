"""Every method that python-ldl and ldlearn both have: time, memory and quality, side by side in one
run.

``python benchmarks/peer_pyldl.py [METHOD ...]`` installs the peer into an environment of its own
the first time (half a gigabyte: it needs keras and torch), then fits each method once with each
library, on the same arrays, in a process of its own with one thread, and prints a Markdown table.

* CPU seconds, not wall time: fit, and the distributions of the training rows (enhancers) or of
  held-out rows (learners). What is loaded or compiled once does not count. Of fits below a second
  the mean of several is taken, the first not counted.
* memory: the most the process held beyond what it held before the fit, in megabytes.
* KL: the divergence per training row, where it is the objective of both.
* quality: mean intersection with the true distributions, of the training rows or of the held-out
  rows.
* alike: mean intersection of the two libraries' results; 1 means that they are the same.
* A run that reaches the limit of CPU time is stopped, and the table says "> limit": the ratio is
  then a lower bound.

The peer runs with its defaults. Ours runs twice: with the peer's settings where we can express
them, and with our defaults. Data: the training parts of SJAFFE, SCUT_FBP and Natural_Scene (or of
Movie, on request) from a folder beside the repository if they are there, and on request 5,000
generated rows with 100 features and 10 labels. 0/1 labels are degrees above 0.01, or the largest
ones up to a sum of 0.5 where nearly all degrees are above 0.01. For enhancers the features are
divided by the mean distance between rows, because the peer fixes the width of its kernels at 1.
``benchmarks/peer_differences.py`` explains the enhancers for which the peer's quality is higher.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import ldlearn
from ldlearn.core import binarize
from ldlearn.core.kernels import mean_distance
from ldlearn.datasets import make_label_distributions
from ldlearn.metrics import intersection

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from protocol import Split
from shared_data import SHARED

PEER, BACKEND = "python-ldl==0.1.2", "torch==2.13.0"
WORKER = Path(__file__).with_name("timed_fit.py")
FILES = ("SJAFFE", "SCUT_FBP", "Natural_Scene", "Movie")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ldlearn" / "peer-pyldl"


@dataclass(frozen=True)
class Pair:
    """A method of both libraries, and the settings to compare them."""

    peer: str
    ours: str
    kind: str
    remark: str
    as_peer: Callable[[int], dict[str, Any]] | None = (
        None  # our parameters for the peer's problem with c labels
    )
    seeded: bool = False
    compiles: bool = False
    max_entropy: bool = False


PAIRS = (
    Pair(
        "FCM",
        "FCM",
        "enhancer",
        "same iteration, two products with X a step in both: no factor of 5 unless stopped "
        "earlier, as ours is by "
        "default; the peer does not normalise the associations",
        lambda c: {"n_clusters": 50, "max_iter": 10_000, "normalize": "softmax"},
        seeded=True,
    ),
    Pair(
        "KM",
        "KM",
        "enhancer",
        "the peer takes each radius over all rows",
        lambda c: {"normalize": "softmax"},
    ),
    Pair(
        "LP",
        "LP",
        "enhancer",
        "same fixed point; the peer iterates 500 times",
        lambda c: {"normalize": "softmax"},
    ),
    Pair(
        "ML",
        "ML",
        "enhancer",
        "same quadratic programmes; the peer's ridge is 1e-5, ours 1e-8",
        lambda c: {"n_neighbors": c, "normalize": "softmax"},
    ),
    Pair(
        "GLLE",
        "GLLE",
        "enhancer",
        "other objective: the peer adds "
        "correlations of rows within clusters and stops after 50 steps",
        lambda c: {"n_neighbors": c + 1, "sigma": 1.0},
    ),
    Pair(
        "SA_BFGS",
        "SABFGS",
        "learner",
        "same objective; few products with X reach its minimum on well-conditioned features: no "
        "factor of 5 there",
        lambda c: {"l2": 0.0, "fit_intercept": False},
        max_entropy=True,
    ),
    Pair(
        "SA_IIS",
        "SAIIS",
        "learner",
        "same algorithm; the peer starts at random",
        lambda c: {"fit_intercept": False, "max_iter": 500},
        max_entropy=True,
    ),
    Pair(
        "AA_KNN",
        "AAKNN",
        "learner",
        "a look-up of neighbours: no factor of 5 to be had",
        lambda c: {"n_neighbors": 5},
    ),
    Pair(
        "AA_BP",
        "AABP",
        "learner",
        "same network but for tanh instead of sigmoid; the peer makes 1000 steps of 0.001",
        lambda c: {
            "hidden_layer_sizes": (64,),
            "solver": "gd",
            "l2": 0.0,
            "learning_rate": 1e-3,
            "max_iter": 1000,
            "goal": 0.0,
        },
        seeded=True,
    ),
    Pair(
        "PT_Bayes",
        "PTBayes",
        "learner",
        "other model: the peer's covariances are diagonal, ours full",
    ),
    Pair(
        "PT_SVM",
        "PTSVM",
        "learner",
        "other model: the peer's machines are linear, ours have a kernel",
        seeded=True,
    ),
    Pair(
        "LDLSF",
        "LDLSF",
        "learner",
        "same objective, solved further; "
        "without an intercept it asks in vain for rows that sum to one",
        lambda c: {"fit_intercept": False},
        compiles=True,
    ),
    Pair(
        "LDLF",
        "LDLForest",
        "learner",
        "5 trees of 64 leaves in both; the peer has a hidden layer under the splits",
        seeded=True,
    ),
    Pair(
        "LALOT",
        "LALOT",
        "learner",
        "same objective; the peer descends in steps of 0.0001 and stops once the divergence, not "
        "its objective, rises",
        lambda c: {"lam": 0.2},
    ),
)


@dataclass(frozen=True)
class Job:
    """The input of `timed_fit`."""

    module: str
    method: str
    kind: str
    arrays: str
    output: str
    limit: float
    parameters: dict[str, Any] = field(default_factory=dict)
    warm_up: bool = False
    max_entropy: bool = False


@dataclass(frozen=True)
class Outcome:
    """The output of a process; ``problem`` instead of a result if it failed."""

    seconds: float
    memory: float = np.nan
    objective: float = np.nan
    result: np.ndarray | None = None
    problem: str = ""


@dataclass(frozen=True)
class Data:
    """Training and held-out rows, as files for the workers."""

    name: str
    D: np.ndarray
    D_test: np.ndarray
    files: dict[str, str]

    def truth(self, kind: str) -> np.ndarray:
        return self.D if kind == "enhancer" else self.D_test


def peer_python(folder: Path) -> Path:
    """The interpreter of the peer's environment, which is created if missing."""
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print(f"installing {PEER} and {BACKEND} into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", PEER, BACKEND], check=True)
        (folder / "ready").touch()
    return python


def stored(
    name: str, folder: Path, X: np.ndarray, D: np.ndarray, X_test: np.ndarray, D_test: np.ndarray
) -> Data:
    files = {}
    for kind, scale in (("enhancer", mean_distance(X)), ("learner", 1.0)):
        files[kind] = str(folder / f"{name.split()[0]}-{kind}.npz")
        np.savez(
            files[kind], X=X / scale, D=D, X_test=X_test / scale, Y=logical_labels(D).astype(float)
        )
    return Data(name, D, D_test, files)


def logical_labels(D: np.ndarray) -> np.ndarray:
    """Degrees above 0.01, unless that makes nearly all labels positive."""
    Y = binarize(D)
    return Y if Y.mean() < 0.99 else binarize(D, "cumulative")


def data_sets(folder: Path, chosen: Sequence[str], rows: int) -> Iterator[Data]:
    for name in FILES:
        if name in chosen and (SHARED / "datasets" / f"{name}.mat").exists():
            split = Split(name)
            shape = f"{len(split.X)} x {split.X.shape[1]} x {split.D.shape[1]}"
            yield stored(f"{name} {shape}", folder, split.X, split.D, split.X_test, split.D_test)
    if "generated" in chosen:
        made = make_label_distributions(rows + 1000, 100, 10, sparsity=0.5, random_state=0)
        X, D = np.asarray(made.X, dtype=float), np.asarray(made.D)
        yield stored(f"generated {rows} x 100 x 10", folder, X[:rows], D[:rows], X[rows:], D[rows:])


def execute(python: Path | str, job: Job) -> Outcome:
    """Run one job with one thread and low priority."""
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    environment = {
        **os.environ,
        **one_thread,
        "KERAS_BACKEND": "torch",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    description = Path(job.output).with_suffix(".json")
    description.write_text(json.dumps(asdict(job)))
    done = subprocess.run(
        ["nice", "-n", "5", str(python), str(WORKER), str(description)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode in (-24, 152):  # SIGXCPU, with and without an intermediate process
        return Outcome(job.limit, problem="limit")
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return Outcome(
            np.nan, problem=lines[-1][:80] if lines else f"ended with code {done.returncode}"
        )
    return Outcome(**json.loads(done.stdout.splitlines()[-1]), result=np.load(job.output))


def settings(pair: Pair, n_labels: int) -> dict[str, dict[str, Any]]:
    """Our parameters, by the name of the setting."""
    seed = {"random_state": 0} if pair.seeded else {}
    as_peer = {} if pair.as_peer is None else {"peer's": {**pair.as_peer(n_labels), **seed}}
    return {**as_peer, "ours": seed}


def overlap(truth: np.ndarray | None, prediction: np.ndarray | None, digits: int) -> str:
    """Mean intersection of two results, as a cell of the table."""
    if truth is None or prediction is None:
        return ""
    if not (np.isfinite(truth).all() and np.isfinite(prediction).all()):
        return "not finite"
    return f"{intersection(rows_sum_to_one(truth), rows_sum_to_one(prediction)):.{digits}f}"


def rows_sum_to_one(P: np.ndarray) -> np.ndarray:
    """Normalise the peer's results: single precision, inexact sums, or rows without a positive
    degree."""
    P = np.maximum(np.asarray(P, dtype=float), 0.0)
    sums = P.sum(axis=1, keepdims=True)
    return np.where(sums > 0, P / np.where(sums > 0, sums, 1.0), 1.0 / P.shape[1])


def cells(pair: Pair, setting: str, data: Data, peer: Outcome, ours: Outcome) -> list[str]:
    stopped = {"limit"} & {peer.problem, ours.problem}
    sign = ">" if peer.problem == "limit" else "<" if stopped else ""
    ratio = peer.seconds / ours.seconds
    truth = data.truth(pair.kind)
    remarks = [
        pair.remark,
        *(f"{o.problem}" for o in (peer, ours) if o.problem not in ("", "limit")),
    ]
    return [
        f"{pair.peer} / {pair.ours}",
        data.name,
        setting,
        formatted_seconds(peer),
        formatted_seconds(ours),
        "" if peer.problem == ours.problem == "limit" else f"{sign} {number(ratio, '.3g')}".strip(),
        number(peer.memory, ".0f"),
        number(ours.memory, ".0f"),
        number(peer.objective, ".4f"),
        number(ours.objective, ".4f"),
        overlap(truth, peer.result, 3),
        overlap(truth, ours.result, 3),
        overlap(peer.result, ours.result, 4),
        "; ".join(remarks),
    ]


def number(value: float, form: str) -> str:
    return "" if np.isnan(value) else f"{value:{form}}"


def formatted_seconds(outcome: Outcome) -> str:
    if np.isnan(outcome.seconds):
        return "failed"
    return f"> {outcome.seconds:.0f}" if outcome.problem else f"{outcome.seconds:.3g}"


HEADER = (
    "peer / ours",
    "data",
    "settings",
    "CPU s peer",
    "CPU s ours",
    "ratio",
    "MB peer",
    "MB ours",
    "KL peer",
    "KL ours",
    "quality peer",
    "quality ours",
    "alike",
    "remark",
)


def line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def compare(pair: Pair, data: Data, python: Path, folder: Path, limit: float) -> None:
    common = Job(
        "",
        "",
        pair.kind,
        data.files[pair.kind],
        str(folder / "result.npy"),
        limit,
        max_entropy=pair.max_entropy,
    )
    peer = execute(
        python, replace(common, module="pyldl.algorithms", method=pair.peer, warm_up=pair.compiles)
    )
    for setting, parameters in settings(pair, data.D.shape[1]).items():
        ours = execute(
            sys.executable,
            replace(common, module="ldlearn", method=pair.ours, parameters=parameters),
        )
        print(line(cells(pair, setting, data, peer, ours)), flush=True)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "methods", nargs="*", metavar="METHOD", help="names as in ldlearn; all by default"
    )
    parser.add_argument(
        "--environment", type=Path, default=CACHE, help="folder of the peer's environment"
    )
    parser.add_argument("--limit", type=float, default=300.0, help="CPU seconds of one run at most")
    parser.add_argument("--rows", type=int, default=5000, help="generated training rows")
    parser.add_argument("--data", nargs="+", choices=(*FILES, "generated"), default=FILES[:3])
    return parser.parse_args(arguments)


def versions(python: Path) -> str:
    code = (
        "from importlib.metadata import version as v; print(*(p + ' ' + v(p) for p in {}), "
        "sep=', ')"
    )
    names = ["python-ldl", "numpy", "scipy", "scikit-learn", "keras", "torch"]
    theirs = subprocess.run(
        [python, "-c", code.format(names)], capture_output=True, text=True, check=True
    ).stdout
    mine = ", ".join(
        f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "scikit-learn")
    )
    return f"Peer: {theirs.strip()}. Ours: ldlearn {ldlearn.__version__}, {mine}."


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    python = peer_python(options.environment)
    existing = dict(ldlearn.all_estimators())
    pairs = [p for p in PAIRS if p.ours in (options.methods or existing)]
    missing = [p.ours for p in pairs if p.ours not in existing]
    print(versions(python) + f" At most {options.limit:g} CPU seconds a run.\n")
    print(line(HEADER) + "\n" + line(["---"] * len(HEADER)), flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for data in data_sets(folder, options.data, options.rows):
            for pair in pairs:
                if pair.ours in existing:
                    compare(pair, data, python, folder, options.limit)
    if missing:
        print(f"\nNot in this ldlearn: {', '.join(missing)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
