"""
Does a predicted degree mean what it says?
==========================================

Take all predictions near 0.3. If the true degrees behind them average 0.3 as well, the point lies on the diagonal and
the model can be taken at its word. The strokes are two standard errors, and the bars at the bottom show how many
predictions fall into each bin.
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

# %%
# Points below the diagonal: there the model is too sure. The bars show that few predictions lie there. Where most of
# them are, at the left, a degree means what it says.
