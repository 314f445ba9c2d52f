"""
Is one method really better than another?
=========================================

A better mean on one data set proves little; over several data sets, ranks can be tested. Four
methods recover the degrees of eight synthetic data sets of different difficulty. Methods under one
bar do not differ significantly.
"""

from ldlearn import DLDL, GLLE, PriorLE, UniformLE
from ldlearn.datasets import make_label_distributions
from ldlearn.evaluation import nemenyi
from ldlearn.metrics import intersection
from ldlearn.reporting import CriticalDifferenceDisplay

methods = {"DLDL": DLDL(), "GLLE": GLLE(), "equal degrees": UniformLE(), "frequencies": PriorLE()}
scores = []
for seed in range(8):
    data = make_label_distributions(
        200,
        10,
        5,
        sparsity=0.4,
        snr=2.0 + seed,
        imbalance=1.0 + seed,
        sharpness=0.5 + 0.2 * seed,
        random_state=seed,
    )
    Y = data.logical()
    scores.append(
        [intersection(data.D, method.fit_enhance(data.X, Y)) for method in methods.values()]
    )

diagram = CriticalDifferenceDisplay(
    nemenyi(scores, greater_is_better=True, methods=list(methods))
).plot()
print(diagram.result)

# %% With eight data sets, only large differences are significant. :doc:`/guide/statistics`
# describes other tests and common mistakes.
