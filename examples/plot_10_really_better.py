"""
Is one method really better than another?
=========================================

On one data set, a better mean says little. On several, ranks can be tested. Here eight synthetic sets of different
difficulty, four ways to recover degrees, and the question which of their differences are more than luck. Methods joined
by a bar are not told apart.
"""

from ldlearn import DLDL, GLLE, PriorLE, UniformLE
from ldlearn.datasets import make_label_distributions
from ldlearn.metrics import intersection
from ldlearn.reporting import CriticalDifferenceDisplay

methods = {"DLDL": DLDL(), "GLLE": GLLE(), "equal shares": UniformLE(), "frequencies": PriorLE()}
scores = []
for seed in range(8):
    data = make_label_distributions(
        200, 10, 5, sparsity=0.4, snr=2.0 + seed, imbalance=1.0 + seed, sharpness=0.5 + 0.2 * seed, random_state=seed
    )
    Y = data.logical()
    scores.append([intersection(data.D, method.fit_enhance(data.X, Y)) for method in methods.values()])

diagram = CriticalDifferenceDisplay.from_scores(scores, greater_is_better=True, methods=list(methods))
print(diagram.result)

# %%
# With eight data sets, a difference must be large to count. :doc:`/guide/statistics` has other tests, and the traps.
