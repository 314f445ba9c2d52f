"""
How much of each label is in a row?
===================================

At least twenty people rated each of these tweets from -4 (very negative) to 4 (very positive). Only 0/1 labels are
kept: a rating is positive if at least one person chose it. DLDL estimates degrees from them, for the rows it was fitted
on (recovered) and from the features alone (predicted). Black lines are the true shares of the votes, which were not
used.
"""

from ldlearn import DLDL
from ldlearn.core import binarize
from ldlearn.datasets import load_vader_tweets
from ldlearn.reporting import DistributionBarsDisplay

tweets = load_vader_tweets()
X, D = tweets.X[:1500], tweets.D[:1500]
Y = binarize(D)

model = DLDL().fit(X, Y)
bars = DistributionBarsDisplay.from_distributions(
    {"recovered": model.label_distributions_, "predicted": model.predict(X)},
    logical=Y,
    truth=D,
    rows=[0, 1, 2],
    label_names=tweets.label_names,
)

# %%
# Recovered degrees are zero for negative labels (hollow dots). A prediction does not use the labels of a row, so all
# its degrees are positive.
