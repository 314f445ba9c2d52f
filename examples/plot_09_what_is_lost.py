"""
How much is lost by seeing only 0/1 labels?
===========================================

The same predictor, fitted in three ways: on the true degrees, by DLDL on 0/1 labels, and in two
steps (equal degrees, then softmax regression). The lowest line predicts the mean distribution for
every row.
"""

from matplotlib.figure import Figure

from ldlearn import DLDL, SABFGS, EnhanceThenLearn, MeanLDL, UniformLE
from ldlearn.core import binarize
from ldlearn.datasets import load_vader_tweets
from ldlearn.metrics import intersection

tweets = load_vader_tweets()
X, D, Y = tweets.X, tweets.D, binarize(tweets.D)
X_test, D_test = X[3000:], D[3000:]
l2 = 0.03 * X.var(axis=0).sum()  # the default penalty of DLDL before selection

sizes = [50, 100, 200, 500, 1000, 2000]
methods = {
    "true degrees": (SABFGS(l2=l2), D),
    "DLDL, 0/1 labels": (DLDL(), Y),
    "two steps, 0/1 labels": (EnhanceThenLearn(enhancer=UniformLE(), learner=SABFGS(l2=l2)), Y),
    "one mean for all rows": (MeanLDL(), D),
}
curves = {
    name: [intersection(D_test, model.fit(X[:n], targets[:n]).predict(X_test)) for n in sizes]
    for name, (model, targets) in methods.items()
}

figure = Figure(figsize=(6.4, 3.8), layout="constrained")
ax = figure.add_subplot(xscale="log", xlabel="training rows", ylabel="intersection on new rows")
for (name, scores), colour in zip(
    curves.items(), ["#1f2430", "#0072b2", "#d55e00", "#a0a8b5"], strict=True
):
    ax.plot(sizes, scores, marker="o", color=colour, label=name)
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.minorticks_off()
ax.legend(frameon=False)

# %% More rows partly compensate for coarser labels; the remaining distance is the information that
# 0/1 labels lack.
