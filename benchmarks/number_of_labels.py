"""DLDL and VoteLDL on simulated votes, by the number of labels.

``python benchmarks/number_of_labels.py [--labels C ...] [--simulations N]`` prints a Markdown table
of mean intersections with the true degrees: recovery of 500 rows / prediction of 200 new ones; 10
features, 20 raters. The degrees follow the features with a signal-to-noise ratio of 10 (noisy) or
100 (clear).
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from ldlearn import DLDL, UniformLE, VoteLDL
from ldlearn.datasets import make_label_distributions
from ldlearn.metrics import intersection

N_TRAIN = 500
HEADER = (
    "labels",
    "features",
    "equal shares",
    "`DLDL()`",
    "`VoteLDL()`",
    "standard error of the difference",
)


def scores(c: int, snr: float, seed: int) -> list[float]:
    """Recovery of equal shares, then recovery and prediction of DLDL and of VoteLDL."""
    data = make_label_distributions(
        N_TRAIN + 200, 10, c, snr=snr, labels="votes", n_raters=20, random_state=seed
    )
    X, Y, D = data.X[:N_TRAIN], data.Y[:N_TRAIN], data.D[:N_TRAIN]
    found = [intersection(D, UniformLE().fit_enhance(X, Y))]
    for model in (DLDL(), VoteLDL()):
        model.fit(X, Y)
        prediction = model.predict(data.X[N_TRAIN:])
        found += [
            intersection(D, model.label_distributions_),
            intersection(data.D[N_TRAIN:], prediction),
        ]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, nargs="*", default=[3, 20, 150], metavar="C")
    parser.add_argument("--simulations", type=int, default=5)
    options = parser.parse_args()
    print(f"| {' | '.join(HEADER)} |\n{'|---' * len(HEADER)}|")
    for c in options.labels:
        for features, snr in (("noisy", 10.0), ("clear", 100.0)):
            values = np.array([scores(c, snr, seed) for seed in range(options.simulations)])
            equal, *means = values.mean(axis=0)
            gaps = values[:, 3:] - values[:, 1:3]
            errors = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
            pairs = [
                f"{recovery:.3f} / {prediction:.3f}"
                for recovery, prediction in (means[:2], means[2:], errors)
            ]
            print(f"| {c} | {features} | {equal:.3f} | {' | '.join(pairs)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
