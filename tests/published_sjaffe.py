"""The six learners of the MATLAB package on SJAFFE: published figures, and our results with the
same protocol.

The published figures are means over ten times ten folds, with a standard deviation of about 0.015
on Chebyshev and none known to us on the other metrics. We take the ratio of two metrics' spreads
from our own folds: ``std(metric) = 0.015 * spread(metric) / spread(Chebyshev)``, method by method.
The choice matters: with the ratios of a constant prediction AAKNN, better here than published,
would be 2.4 of them away on Clark and 2.1 on Canberra over ten repetitions; all others stay within
two.
"""

from __future__ import annotations

import warnings

import numpy as np
from sjaffe import COLUMNS, sjaffe
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from ldlearn.base import Learner
from ldlearn.learning import AABP, AAKNN, PTSVM, SABFGS, SAIIS, MeanLDL, PTBayes
from ldlearn.metrics import score_all

CHEBYSHEV_STD = 0.015
PUBLISHED = {
    "SABFGS": (0.107, 0.399, 0.820, 0.064, 0.940, 0.860),
    "SAIIS": (0.117, 0.419, 0.875, 0.070, 0.934, 0.851),
    "AAKNN": (0.114, 0.410, 0.843, 0.071, 0.934, 0.855),
    "AABP": (0.130, 0.510, 1.050, 0.113, 0.908, 0.824),
    "PTBayes": (0.121, 0.430, 0.904, 0.074, 0.930, 0.846),
    "PTSVM": (0.127, 0.457, 0.935, 0.086, 0.920, 0.839),
}


def published_learner(name: str, seed: int = 0) -> Learner:
    """The learner with the parameters of the package."""
    learners: dict[str, Learner] = {
        # The minimum itself scores worse (Chebyshev 0.157): the published figures need the early
        # stop.
        "SABFGS": SABFGS(l2=0.0, fit_intercept=False, solver="lbfgs", max_iter=400),
        "SAIIS": SAIIS(max_iter=50, tol=0.0, fit_intercept=False, init="eye"),
        "AAKNN": AAKNN(n_neighbors=4),
        "AABP": AABP(
            hidden_layer_sizes=(24, 60),
            output="linear-abs",
            solver="gd",
            l2=0.0,
            max_iter=6000,
            random_state=seed,
        ),
        "PTBayes": PTBayes(
            ridge=1e-14, relative=False, resample=True, log_domain=False, random_state=seed
        ),
        "PTSVM": PTSVM(gamma="auto", random_state=seed),
    }
    return learners[name]


def fold_scores(learner: Learner, seed: int = 0) -> np.ndarray:
    """Scores of ten folds: one row per fold, one column per metric."""
    X, D = sjaffe().X, sjaffe().D
    scores = []
    for train, test in KFold(10, shuffle=True, random_state=seed).split(X):
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ConvergenceWarning
            )  # the published forms are stopped early
            P = learner.fit(X[train], D[train]).predict(X[test])
        scores.append(list(score_all(D[test], P, names=COLUMNS).values()))
    return np.array(scores)


def deviations(name: str, scores: np.ndarray) -> np.ndarray:
    """Differences of our means from the published ones, in the standard deviations explained
    above."""
    spread = scores.std(axis=0)
    return (scores.mean(axis=0) - PUBLISHED[name]) / (CHEBYSHEV_STD * spread / spread[0])


# How many standard deviations ours may be worse and better than published. SABFGS, AAKNN and PTSVM
# come out about one better (the package's stopping rule, ties and column order differ); SAIIS and
# PTBayes agree to the printed digits.
ROOM = {
    "SABFGS": (0.25, 1.6),
    "SAIIS": (0.12, 0.12),
    "AAKNN": (0.1, 1.6),
    "AABP": (1.5, 1.5),
    "PTBayes": (0.12, 0.12),
    "PTSVM": (0.0, 1.6),
}
# The published AABP and PTBayes lose to the mean distribution, whatever runs them.
BEATS_THE_MEAN = ("SABFGS", "SAIIS", "AAKNN", "PTSVM")
SMALLER_IS_BETTER = np.array([1, 1, 1, 1, -1, -1])


def disagreements(name: str, scores: np.ndarray) -> list[str]:
    """Reasons why these scores differ from those of the published method; empty if they agree."""
    worse, better = ROOM[name]
    away = SMALLER_IS_BETTER * deviations(name, scores)
    found = [
        f"{metric} is {by:+.2f} away"
        for metric, by in zip(COLUMNS, away, strict=True)
        if not -better <= by <= worse
    ]
    if name in BEATS_THE_MEAN:
        lost = SMALLER_IS_BETTER * (scores.mean(axis=0) - fold_scores(MeanLDL()).mean(axis=0)) >= 0
        found += [
            f"{metric} is no better than the mean's"
            for metric, no in zip(COLUMNS, lost, strict=True)
            if no
        ]
    return found
