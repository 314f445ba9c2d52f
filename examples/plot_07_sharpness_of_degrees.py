"""
How sharp should degrees be?
============================

0/1 labels do not determine whether the positive labels of a row have similar degrees or one of them
dominates. The penalty ``beta`` of DLDL does: small values give degrees near the corners of the
triangle, large values give nearly equal degrees for all positive labels. A regularisation path
computes several values and does the shared work once.
"""

from matplotlib.figure import Figure

from ldlearn.datasets import make_label_distributions
from ldlearn.joint import dldl_path
from ldlearn.metrics import intersection
from ldlearn.reporting import TernaryDisplay

data = make_label_distributions(300, 8, 3, sparsity=0.3, sharpness=1.0, random_state=3)
Y = data.logical()

figure = Figure(figsize=(9, 3.4), layout="constrained")
axes = figure.subplots(1, 3)
for ax, model in zip(axes, dldl_path(data.X, Y, beta=[0.01, 1.0, 100.0]), strict=True):
    clouds = {"truth": data.D, "recovered": model.label_distributions_}
    TernaryDisplay(clouds, label_names=data.label_names).plot(ax=ax)
    ax.set_title(
        f"beta = {model.beta_:g}: {intersection(data.D, model.label_distributions_):.3f}",
        fontsize=10,
        pad=16,
    )

# %% The number is the intersection with the true degrees. In practice these are not available, so
# ``beta=None`` selects the value from held-out 0/1 labels; :doc:`/research/defaults` has the rule
# and measurements.
