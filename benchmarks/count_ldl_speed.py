"""CPU time and memory of CountLDL, as multiples of those of softmax regression on the same votes.

``python benchmarks/count_ldl_speed.py`` fits `SABFGS` to the shares of three votes per row and
`CountLDL` to the votes, in turn and in the same process, on dense and on sparse features. Then it
recovers and predicts with intervals. The ratio of the fits may be at most `MAX_RATIO`.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from ldlearn import SABFGS, CountLDL
from ldlearn.core import votes_to_degrees

MAX_RATIO = 50.0
N_NONZERO = 12  # in a row of sparse features
# rows, features, labels, sparse
CASES = (
    (10_000, 100, 10, False),
    (100_000, 100, 10, False),
    (4_000, 2_000, 5, True),
    (40_000, 30_000, 20, True),
)


def make_table(n: int, m: int, n_labels: int, is_sparse: bool) -> tuple[Any, np.ndarray]:
    """Features, and three votes of each row from a Dirichlet distribution around a prediction."""
    rng = np.random.default_rng(0)
    if is_sparse:
        columns = (5 * rng.pareto(1.0, size=(n, N_NONZERO))).astype(int) % m
        entries = np.full(columns.size, 1 / np.sqrt(N_NONZERO))
        rows = np.repeat(np.arange(n), N_NONZERO)
        X: Any = sparse.csr_array((entries, (rows, columns.ravel())), shape=(n, m))
    else:
        X = rng.standard_normal((n, m)) / np.sqrt(m)
    P = softmax(1.5 * (X @ rng.standard_normal((m, n_labels))), axis=1)
    rates = rng.standard_gamma(4.0 * P) + 1e-12
    rates /= rates.sum(axis=1, keepdims=True)
    return X, rng.multinomial(3, rates).astype(float)


def measure(function: Callable[[], Any]) -> tuple[float, float]:
    """CPU and wall time of a call."""
    cpu = time.process_time()
    wall = time.perf_counter()
    function()
    return time.process_time() - cpu, time.perf_counter() - wall


def measure_case(n: int, m: int, n_labels: int, is_sparse: bool) -> float:
    """Print the times of a case; the ratio of the CPU times of the fits."""
    X, votes = make_table(n, m, n_labels, is_sparse)
    shares, weights = votes_to_degrees(votes)
    model = CountLDL()
    calls = {
        "peer": lambda: SABFGS().fit(X, shares, sample_weight=weights),
        "fit": lambda: model.fit(X, votes),
        "enhance": lambda: model.enhance(X, votes),
        "enhance_interval": lambda: model.enhance_interval(X, votes),
        "predict_interval": lambda: model.predict_interval(X),
    }
    times = {name: measure(call) for name, call in calls.items()}
    ratio = times["fit"][0] / times["peer"][0]
    texts = [f"{cpu:.2f} / {wall:.2f} s" for cpu, wall in times.values()]
    texts.insert(2, f"{ratio:.0f}")
    kind = "sparse" if is_sparse else "dense"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    texts = [f"{n:,} x {m:,} x {n_labels}, {kind}", *texts, f"{memory:.1f} GB"]
    print(f"| {' | '.join(texts)} |", flush=True)
    return ratio


def main() -> int:
    warnings.simplefilter("ignore")
    headings = ["rows x features x labels", "SABFGS: CPU / wall", "CountLDL", "ratio of CPU"]
    headings += ["enhance", "enhance_interval", "predict_interval", "peak memory"]
    print(f"| {' | '.join(headings)} |")
    print("|---" * len(headings) + "|")
    ratios = [measure_case(*case) for case in CASES]
    return int(max(ratios) > MAX_RATIO)


if __name__ == "__main__":
    sys.exit(main())
