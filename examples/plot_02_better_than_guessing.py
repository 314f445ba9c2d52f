"""
Are the degrees better than a guess?
====================================

Baselines use no features: equal degrees for all positive labels, or the frequencies of the labels,
restricted to the positive ones. A method that is no better than a baseline has learned nothing from
the features. After the rows of the features have been shuffled, no method should be better.
"""

import numpy as np
from matplotlib.figure import Figure

from ldlearn import DLDL, PriorLE, UniformLE
from ldlearn.core import binarize
from ldlearn.datasets import load_vader_tweets
from ldlearn.metrics import intersection

tweets = load_vader_tweets()
X, D = tweets.X[:1500], tweets.D[:1500]
Y = binarize(D)
shuffled = np.random.default_rng(0).permutation(X)

found = {
    "equal degrees (baseline)": UniformLE().fit_enhance(X, Y),
    "label frequencies (baseline)": PriorLE().fit_enhance(X, Y),
    "DLDL, features shuffled": DLDL().fit_enhance(shuffled, Y),
    "DLDL": DLDL().fit_enhance(X, Y),
}
scores = {name: intersection(D, recovered) for name, recovered in found.items()}

figure = Figure(figsize=(6.4, 2.2), layout="constrained")
ax = figure.add_subplot(xlabel="intersection with the true degrees (1 is perfect)", xlim=(0.5, 1))
bars = ax.barh(
    list(scores), list(scores.values()), color=["#a0a8b5", "#a0a8b5", "#d55e00", "#0072b2"]
)
ax.bar_label(bars, fmt="%.3f", padding=4)

# %% Repeat this check with your own data: fit once with your features and once with shuffled rows.
# If the scores are equal, the features carry no information about the degrees, and a baseline is as
# good as any method.
