"""
How far from the optimum did the solver stop?
=============================================

DLDL takes turns: weights, degrees, weights, degrees. Every half-step is convex and lowers the objective. The last step
in the degrees comes with a certificate: a number that bounds from above how much better the best degrees could
be. It is computed, not estimated.
"""

from ldlearn import DLDL
from ldlearn.core import binarize
from ldlearn.datasets import load_vader_tweets
from ldlearn.reporting import ConvergenceDisplay

tweets = load_vader_tweets()
X, D = tweets.X[:1500], tweets.D[:1500]

model = DLDL(alpha=0.1).fit(X, binarize(D))
progress = ConvergenceDisplay.from_estimator(model)
print(f"certified gap: {model.gap_.sum():.1e} of an objective of {model.objective_:.1f}")

# %%
# The certificate is about the last step in the degrees, given the weights. The whole problem, degrees and weights
# together, is not convex; for that, nobody has a certificate.
