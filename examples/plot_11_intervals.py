"""
How certain is a degree?
========================

The line through the end of each bar is an interval with a nominal level of 90 %. The interval of a recovered degree is
for the votes of this tweet, given which ratings got at least one; that of a predicted degree is for the mean over all
tweets with these features. The latter is therefore shorter and need not contain the true degrees of a single tweet
(black lines).
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
# Intervals for a single new tweet need some rows with true degrees: conformal prediction chooses their width from the
# errors on 300 rated tweets.
conformal = ConformalIntervals(model).fit(tweets.X[1500:1800], tweets.D[1500:1800])
lower, upper = conformal.predict_interval(tweets.X[1800:])
inside = (lower <= tweets.D[1800:]) & (tweets.D[1800:] <= upper)
print(f"coverage: {inside.mean():.2f}")
new_bars = DistributionBarsDisplay.from_distributions(
    {"predicted": model.predict(tweets.X[1800:])},
    intervals={"predicted": (lower, upper)},
    truth=tweets.D[1800:],
    rows=[0, 1, 2],
    label_names=tweets.label_names,
)
