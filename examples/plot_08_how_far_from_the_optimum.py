"""
How far from the optimum did the solver stop?
=============================================

DLDL alternates between coefficients and degrees. Each half-step is a convex problem and decreases
the objective. The last step in the degrees has a certificate: a computed upper bound of the
distance of the objective from its minimum.
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

# %% The certificate holds for the last step in the degrees, with fixed coefficients. The joint
# problem is not convex and has no certificate.
