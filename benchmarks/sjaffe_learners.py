"""The MATLAB package's learners on SJAFFE, ten times ten folds, beside its published figures.

``python benchmarks/sjaffe_learners.py [NAME ...]`` needs SJAFFE.mat in ``../shared/datasets``
beside the repository and takes some minutes, most of them for AABP and PTSVM. A figure in brackets
is the distance from the published mean in published standard deviations (0.015 on Chebyshev; the
others in proportion to the spread over our folds).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from published_sjaffe import PUBLISHED, deviations, fold_scores, published_learner
from sjaffe import COLUMNS, FILE

REPETITIONS = 10


def main(names: list[str]) -> None:
    if not FILE.exists():
        raise SystemExit("SJAFFE.mat is not in ../shared/datasets beside the repository.")
    print(f"{'':10}" + "".join(f"{name:>22}" for name in COLUMNS) + f"{'seconds a fit':>16}")
    for name in names or PUBLISHED:
        began = time.perf_counter()
        scores = np.vstack(
            [fold_scores(published_learner(name, seed), seed) for seed in range(REPETITIONS)]
        )
        seconds = (time.perf_counter() - began) / len(scores)
        cells = zip(scores.mean(axis=0), PUBLISHED[name], deviations(name, scores), strict=True)
        row = "".join(
            f"{f'{ours:.3f} / {theirs:.3f} ({away:+.1f})':>22}" for ours, theirs, away in cells
        )
        print(f"{name:10}{row}{seconds:>16.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
