"""
How much of each label is in a text?
====================================

At least twenty people rated each of these texts from -4 (very negative) to 4 (very positive). Only
0/1 labels are kept: a label is positive if at least one person chose it. DLDL estimates degrees
from them, for the rows it was fitted on (recovered) and from the features alone (predicted). Black
lines are the true shares of the votes, which were not used.
"""

import numpy as np

from ldlearn import DLDL
from ldlearn.datasets import load_vader_tweets
from ldlearn.reporting import DistributionBarsDisplay

tweets = load_vader_tweets()
names = ["awful", "bad", "neutral", "good", "great"]
X, votes = tweets.X[:3000], np.add.reduceat(tweets.D[:3000], [0, 2, 4, 5, 7], axis=1)
Y = (votes > 0).astype(int)

model = DLDL().fit(X, Y)
bars = DistributionBarsDisplay.from_distributions(
    {"recovered": model.label_distributions_, "predicted": model.predict(X)},
    logical=Y,
    truth=votes,
    rows=[36, 84, 130],
    texts=tweets.texts,
    label_names=names,
)

# %% Recovered degrees are zero for negative labels (hollow dots). A prediction does not use the
# labels of a row, so all its degrees are positive.
