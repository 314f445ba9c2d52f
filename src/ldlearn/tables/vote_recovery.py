"""How well degrees recovered from half of the votes of a row predict the other half."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from ldlearn.core.row_groups import Groups, count_groups, join_groups
from ldlearn.core.simplex import Array
from ldlearn.core.targets import VOTES_LIMIT, split_votes, votes_to_degrees
from ldlearn.joint import VoteShares
from ldlearn.metrics.against_baselines import clearly_better, mean_and_error, vote_cross_entropy

_BASELINES = {
    "prediction": "the prediction without votes",
    "raw_shares": "the shares of the given votes",
    "smoothed_shares": "the smoothed shares of the given votes",
}


@dataclass(frozen=True)
class VoteRecovery:
    """Cross-entropies per vote of votes that were not given, and whether the recovery is better.

    Cross-entropy is a proper score: on average it is least for the true degrees. The intersection
    with the shares of a few votes is not: if one vote is given and one is left out, its expectation
    is ``|d|^2`` for raw shares, more than for the posterior mean, however good that is.

    Attributes
    ----------
    rows : int
        Rows with two or more votes.
    groups : int
        Independent groups of these rows.
    votes : float
        Number of votes that were not given.
    recovered : float
        Of the degrees that the model recovers from the given votes.
    prediction, raw_shares, smoothed_shares : float
        Of the degrees predicted without votes, of the shares of the given votes, and of these
        shares after one more vote for each label.
    advantage, standard_error : float
        By how much the log-probability per vote is higher than that of the best baseline.
    """

    rows: int
    groups: int
    votes: float
    recovered: float
    prediction: float
    raw_shares: float
    smoothed_shares: float
    advantage: float
    standard_error: float

    @property
    def better_than_baselines(self) -> bool:
        """Whether the recovery is better than the best baseline by more than chance."""
        return clearly_better(self.advantage, self.standard_error, self.groups)

    def describe(self) -> str:
        """Whether votes that were not given are likelier under the recovered degrees."""
        likelier = "likelier"
        if self.advantage < 0:
            likelier = "less likely"
        baseline = _BASELINES[_best_baseline(asdict(self))]
        difference = (
            f"votes that were not given are {likelier} under the recovered degrees than under "
            f"{baseline} (log-probability per vote {self.advantage:+.3f}, "
            f"standard error {self.standard_error:.3f})"
        )
        if clearly_better(abs(self.advantage), self.standard_error, self.groups):
            return f"Recovery: {difference}."
        return f"Recovery: {difference}, but the difference may be chance."

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and model files."""
        return asdict(self)


def score_recovery(
    estimator: Any, X: Any, counts: Array, groups: Groups, seed: int = 0
) -> tuple[VoteRecovery | None, str]:
    """Score an estimator on rows that it was not fitted on.

    Parameters
    ----------
    estimator : fitted estimator
    X : array or CSR matrix of shape (n_samples, n_features)
    counts : ndarray of shape (n_samples, n_labels)
    groups : integer ndarray of shape (n_samples,)
        Groups are independent.
    seed : int, default=0
        Of the random choice of the votes that are given.

    Returns
    -------
    recovery : VoteRecovery or None
    warning : str
        Why there is none, or that it is no better than a baseline; empty if the estimator is no
        method that recovers degrees from counts of votes, because then none is expected.
    """
    if not (get_tags(estimator).counts and hasattr(estimator, "enhance")):
        return None, ""
    if (counts % 1 != 0).any():
        return None, "Recovery was not scored: weighted votes cannot be split into halves."
    totals = counts.sum(axis=1)
    if (totals >= VOTES_LIMIT).any():
        return None, f"Recovery was not scored: {VOTES_LIMIT:g} votes of a row are too many."
    rows = np.flatnonzero(totals >= 2)
    units = join_groups(groups[rows])
    if count_groups(units) < 2:
        return None, "Recovery was not scored: hardly any row has two votes, one to be left out."
    X = X[rows]
    given, others = split_votes(counts[rows], np.random.default_rng(seed))
    degrees = {
        "recovered": estimator.enhance(X, given),
        "prediction": estimator.predict(X),
        "raw_shares": VoteShares().fit(X, given).label_distributions_,
        "smoothed_shares": VoteShares(smoothing=1.0).fit(X, given).label_distributions_,
    }
    shares, n_votes = votes_to_degrees(others)
    losses = {name: vote_cross_entropy(shares, np.asarray(D)) for name, D in degrees.items()}
    means = {name: float(np.average(loss, weights=n_votes)) for name, loss in losses.items()}
    gain = losses[_best_baseline(means)] - losses["recovered"]
    advantage, error = mean_and_error(gain, units, n_votes)
    found = VoteRecovery(
        rows=len(rows),
        groups=count_groups(units),
        votes=float(n_votes.sum()),
        **means,
        advantage=advantage,
        standard_error=error,
    )
    return found, "" if found.better_than_baselines else found.describe()


def _best_baseline(cross_entropies: dict[str, Any]) -> str:
    return min(_BASELINES, key=cross_entropies.__getitem__)
