"""
How certain is a degree?
========================

The line through the end of each bar is an interval with a nominal level of 90 %. The interval of a
recovered degree is for the votes of this text, given which labels got at least one; that of a
predicted degree is for the mean over all texts with these features. The latter is therefore shorter
and need not contain the true degrees of a single text (black lines).
"""

import warnings

import numpy as np
import pandas as pd

from ldlearn import DLDL, ConformalIntervals
from ldlearn.datasets import load_vader_tweets
from ldlearn.reporting import DistributionBarsDisplay

tweets = load_vader_tweets()
names = ["awful", "bad", "neutral", "good", "great"]
X, votes = tweets.X, np.add.reduceat(tweets.D, [0, 2, 4, 5, 7], axis=1)
Y = pd.DataFrame(votes > 0, columns=names).astype(int)
model = DLDL().fit(X[:3000], Y[:3000])
# A message says that the linear vote model holds only roughly for these texts, so that intervals
# may be too narrow.
warnings.filterwarnings("ignore", message="Intervals of predictions may be too narrow")
bars = DistributionBarsDisplay.from_estimator(
    model,
    X[:3000],
    Y[:3000],
    rows=[36, 84, 130],
    texts=tweets.texts,
    truth=votes[:3000],
    interval=0.9,
)

# %% Intervals for a single new text need some rows with true degrees: conformal prediction chooses
# their width from the errors on 300 rated texts.
conformal = ConformalIntervals(model).fit(X[3700:4000], votes[3700:4000])
lower, upper = conformal.predict_interval(X[3000:3700])
new = votes[3000:3700]
inside = (lower <= new) & (new <= upper)
print(f"coverage: {inside.mean():.2f}")
new_bars = DistributionBarsDisplay.from_distributions(
    {"predicted": model.predict(X[3000:3700])},
    intervals={"predicted": (lower, upper)},
    truth=new,
    rows=[206, 231, 294],
    texts=tweets.texts[3000:],
    label_names=names,
)
