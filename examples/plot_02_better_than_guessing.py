"""
Are the degrees better than a guess?
====================================

Some guesses need no features at all: equal shares of the positive labels, or the overall frequencies of the labels,
restricted to the positive ones. We call them baselines. A method that does not beat them has learned nothing from the
features. And if we shuffle the rows of the features, no method should beat them.
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
    "equal shares (baseline)": UniformLE().fit_enhance(X, Y),
    "label frequencies (baseline)": PriorLE().fit_enhance(X, Y),
    "DLDL, features shuffled": DLDL().fit_enhance(shuffled, Y),
    "DLDL": DLDL().fit_enhance(X, Y),
}
scores = {name: intersection(D, recovered) for name, recovered in found.items()}

figure = Figure(figsize=(6.4, 2.2), layout="constrained")
ax = figure.add_subplot(xlabel="intersection with the true degrees (1 is perfect)", xlim=(0.5, 1))
bars = ax.barh(list(scores), list(scores.values()), color=["#a0a8b5", "#a0a8b5", "#d55e00", "#0072b2"])
ax.bar_label(bars, fmt="%.3f", padding=4)

# %%
# Run this test on your own data: fit once with your features and once with shuffled ones. If the two scores are the
# same, the features say nothing about the degrees, and a baseline is all you can have.
