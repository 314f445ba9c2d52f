"""
How sure is a degree?
=====================

Every bar has a line through its end: the interval that is to hold the degree nine times in ten. For what was recovered
it is about the votes that this tweet did get, given which ratings got any; for what is predicted, about the average
over all tweets with these features. So the second one is the shorter, and the true shares of a single tweet (black
strokes) need not lie in it.
"""

from ldlearn import DLDL, ConformalIntervals
from ldlearn.core import binarize
from ldlearn.datasets import load_vader_tweets
from ldlearn.reporting import DistributionBarsDisplay

tweets = load_vader_tweets()
Y = binarize(tweets.D)
model = DLDL().fit(tweets.X[:1500], Y[:1500])
bars = DistributionBarsDisplay.from_estimator(
    model, tweets.X[:1500], Y[:1500], rows=[0, 1, 2], truth=tweets.D[:1500], interval=0.9
)

# %%
# For the shares of a single new tweet, some true ones must be known: intervals around the same predictions, as wide as
# the errors on 300 rated tweets ask for.
sure = ConformalIntervals(model).fit(tweets.X[1500:1800], tweets.D[1500:1800])
lower, upper = sure.predict_interval(tweets.X[1800:])
inside = (lower <= tweets.D[1800:]) & (tweets.D[1800:] <= upper)
print(f"held: {inside.mean():.2f}")
new_bars = DistributionBarsDisplay.from_distributions(
    {"predicted": model.predict(tweets.X[1800:])},
    intervals={"predicted": (lower, upper)},
    truth=tweets.D[1800:],
    rows=[0, 1, 2],
    label_names=tweets.label_names,
)
