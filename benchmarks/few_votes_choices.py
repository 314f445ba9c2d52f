"""Do other constants of CountLDL recover better degrees, and would one know?

``python benchmarks/few_votes_choices.py [--seeds N] [--rows N] [FILE.npz ...]`` recovers degrees
with one constant changed at a time, on the data sets of `benchmarks/few_votes.py`. It prints
Markdown tables of the mean intersection, KL divergence and cross-entropy of each variant, and of
their differences from the default with standard errors over data sets.

At last each data set gets the variant with the least cross-entropy on all *other* data sets: what
is gained by it is what choosing among these variants is worth on new data.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from few_votes import METRICS, ClassesOnly, Draw, SingleOnly, load_sets, recover
from joblib import Parallel, delayed

from ldlearn import CountLDL

VOTES = (1, 2, 3, 5)
MODEL = "ldlearn.joint.count_ldl."
CLASSES = "ldlearn.solvers.vote_classes."
DEFAULT = "default"


class EqualWeights(CountLDL):
    """The single distribution and the classes have the same weight."""

    def _weigh_components(self, *args: Any) -> None:
        super()._weigh_components(*args)
        self.single_weight_ = 0.5


# The estimator, and the constants that differ from the default.
VARIANTS: dict[str, tuple[type[CountLDL], dict[str, Any]]] = {
    DEFAULT: (CountLDL, {}),
    "single distribution only": (SingleOnly, {}),
    "classes only": (ClassesOnly, {}),
    "equal weights": (EqualWeights, {}),
    "median of kappa 4": (CountLDL, {MODEL + "_MEDIAN_CONCENTRATION": 4.0}),
    "median of kappa 16": (CountLDL, {MODEL + "_MEDIAN_CONCENTRATION": 16.0}),
    "60 EM steps": (CountLDL, {MODEL + "_EM_STEPS": 60}),
    "first concentration 8": (CountLDL, {CLASSES + "_FIRST_CONCENTRATION": 8.0}),
    "largest concentration 30": (CountLDL, {CLASSES + "_LARGEST_CONCENTRATION": 30.0}),
    "largest concentration 120": (CountLDL, {CLASSES + "_LARGEST_CONCENTRATION": 120.0}),
}


def measure(variant: str, draw: Draw) -> list[float]:
    """Intersection, KL divergence and cross-entropy of the recovered degrees."""
    estimator, constants = VARIANTS[variant]
    with ExitStack() as stack:
        for name, value in constants.items():
            stack.enter_context(patch(name, value))
        return draw.score(lambda: recover(estimator(), draw.X, draw.votes))[:3]


def measure_all(data: Any, n_votes: int, seed: int, max_rows: int) -> list[list[float]]:
    draw = Draw(data, n_votes, seed, max_rows)
    return [measure(variant, draw) for variant in VARIANTS]


def chosen_elsewhere(scores: np.ndarray) -> np.ndarray:
    """Scores of each data set by the variant with the least cross-entropy on the others.

    ``scores`` are of shape (n_sets, n_votes, n_variants, n_metrics).
    """
    found = np.empty_like(scores[:, :, 0])
    cross_entropy = scores[..., 2].mean(axis=1)
    for left_out in range(len(scores)):
        others = np.delete(cross_entropy, left_out, axis=0).mean(axis=0)
        found[left_out] = scores[left_out, :, np.argmin(others)]
    return found


def describe(difference: np.ndarray) -> str:
    """Mean and standard error over data sets."""
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return f"{difference.mean():+.4f} ± {error:.4f}"


def print_tables(scores: np.ndarray) -> None:
    variants = list(VARIANTS)
    with_choice = np.concatenate([scores, chosen_elsewhere(scores)[:, :, None]], axis=2)
    differences = with_choice - with_choice[:, :, :1]
    for metric, name in enumerate(METRICS[:3]):
        print(f"\n{name[0].upper()}{name[1:]}: difference from the default\n")
        print("| variant | " + " | ".join(f"{n} votes" for n in VOTES) + " |")
        print("|---|" + "---|" * len(VOTES))
        means = scores[:, :, 0, metric].mean(axis=0)
        print(f"| {DEFAULT}: mean | " + " | ".join(f"{mean:.4f}" for mean in means) + " |")
        for position, variant in enumerate([*variants, "chosen on the other sets"]):
            if variant == DEFAULT:
                continue
            cells = [describe(differences[:, n, position, metric]) for n in range(len(VOTES))]
            print(f"| {variant} | " + " | ".join(cells) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=1500)
    given = parser.parse_args()
    sets = load_sets(given.paths)
    jobs = []
    for data in sets.values():
        for n_votes in VOTES:
            for seed in range(given.seeds):
                jobs.append(delayed(measure_all)(data, n_votes, seed, given.rows))
    found = np.array(Parallel(n_jobs=2)(jobs))
    shape = (len(sets), len(VOTES), given.seeds, len(VARIANTS), 3)
    print(f"{len(sets)} data sets")
    print_tables(found.reshape(shape).mean(axis=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
