"""Why python-ldl scores higher with three enhancers: which part of its definition makes the
difference.

``python benchmarks/peer_differences.py`` prints a Markdown table: each case begins with the peer
itself and with our defaults, then changes one part of ours at a time. Data are SJAFFE and SCUT_FBP
from a folder beside the repository, all rows, features standardised; 0/1 labels as in
``peer_pyldl.py``. Quality is the mean intersection with the true distributions, "alike" that with
the peer's result (the peer draws from a fixed seed).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from peer_pyldl import CACHE, Job, execute, line, logical_labels, overlap, peer_python
from scipy.spatial.distance import cdist
from scipy.special import softmax

from ldlearn.enhancement import FCM, GLLE, LP, PriorLE, SoftmaxLE

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from protocol import load

Variants = Iterator[tuple[str, np.ndarray]]


def lp(X: np.ndarray, Y: np.ndarray) -> Variants:
    yield "ours: shares of the propagated labels", LP().fit_enhance(X, Y)
    yield "softmax of them", LP(normalize="softmax").fit_enhance(X, Y)
    A = np.exp(-(cdist(X, X) ** 2) / 2)  # as the peer: a row is its own neighbour
    P = A / np.sqrt(np.outer(A.sum(axis=1), A.sum(axis=1)))
    F = 0.5 * np.linalg.solve(np.eye(len(X)) - 0.5 * P, Y)
    yield "softmax, and a row is its own neighbour", softmax(F, axis=1)
    yield "softmax of the 0/1 labels, no propagation", SoftmaxLE().fit_enhance(X, Y)


def fcm(X: np.ndarray, Y: np.ndarray) -> Variants:
    model = FCM(n_clusters=50, random_state=0).fit(X, Y)
    yield "ours: columns, then rows of the associations sum to 1", model.label_distributions_
    A = Y.T @ model.memberships_
    scores = np.column_stack([(model.memberships_ * row).max(axis=1) for row in A])
    yield "associations not normalised", scores / scores.sum(axis=1, keepdims=True)
    yield "associations not normalised, softmax", softmax(scores, axis=1)
    yield "class prior, no clusters", PriorLE().fit_enhance(X, Y)
    frequencies = np.tile(Y.sum(axis=0) / Y.sum(), (len(Y), 1))
    yield "frequencies of the labels, the same for all rows", frequencies


def glle(X: np.ndarray, Y: np.ndarray) -> Variants:
    yield "ours: the exact minimum, lam = 0.01", GLLE().fit_enhance(X, Y)
    for lam in (0.1, 1.0):
        yield f"the exact minimum, lam = {lam:g}", GLLE(lam=lam).fit_enhance(X, Y)
    for steps in (5, 20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about early stopping, which is intended
            model = GLLE(solver="lbfgs", max_iter=steps, random_state=0).fit(X, Y)
        yield f"{steps} steps of L-BFGS, lam = 0.01", model.label_distributions_


CASES = (("LP", "SJAFFE", lp), ("FCM", "SCUT_FBP", fcm), ("GLLE", "SJAFFE", glle))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--environment", type=Path, default=CACHE, help="folder of the peer's environment"
    )
    python = peer_python(parser.parse_args().environment)
    print(line(["method", "data", "variant", "quality", "alike"]) + "\n" + line(["---"] * 5))
    for method, data, variants in CASES:
        X, D = load(data)
        X, Y = (
            (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0),
            logical_labels(D),
        )
        with tempfile.TemporaryDirectory() as folder:
            arrays, output = f"{folder}/arrays.npz", f"{folder}/result.npy"
            np.savez(arrays, X=X, D=D, X_test=X, Y=Y.astype(float))
            peer = execute(
                python, Job("pyldl.algorithms", method, "enhancer", arrays, output, 600.0)
            ).result
        print(line([method, data, "the peer", overlap(D, peer, 3), ""]), flush=True)
        for name, found in variants(X, Y):
            print(
                line([method, data, name, overlap(D, found, 3), overlap(peer, found, 3)]),
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
