"""
Does a predicted degree mean what it says?
==========================================

A prediction is calibrated if the true degrees behind all predictions near 0.3 have a mean of 0.3,
and so on: the points lie on the diagonal. Error bars are two standard errors; the bars at the
bottom show the fraction of predictions in each bin.
"""

from ldlearn import DLDL
from ldlearn.core import binarize
from ldlearn.datasets import load_vader_tweets
from ldlearn.reporting import ReliabilityDisplay

tweets = load_vader_tweets()
train, test = slice(0, 2000), slice(2000, 4000)

model = DLDL().fit(tweets.X[train], binarize(tweets.D[train]))
reliability = ReliabilityDisplay.from_estimator(model, tweets.X[test], tweets.D[test])
print(f"mean distance from the diagonal: {reliability.calibration_error:.3f}")

# %% Below the diagonal, predicted degrees are too large. Few predictions lie there; most are at the
# left, where the model is well calibrated.
