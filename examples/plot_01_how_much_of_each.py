"""
How much of each label is in a row?
===================================

Twenty people or more rated each of these tweets, from -4 (very negative) to 4 (very positive). We keep only 0/1 labels:
did anyone choose this rating? DLDL turns them back into degrees, for the rows it was fitted on (recovered) and from
the features alone (predicted). The black strokes are the true shares of the votes, which it never saw.
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
# Recovered degrees are zero wherever the 0/1 label is: those dots are hollow. A prediction knows no labels and spreads
# a little over all of them.
