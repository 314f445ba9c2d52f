"""
How sharp should degrees be?
============================

0/1 labels do not say whether a row is torn between its labels or leans to one of them. The weight ``beta`` of DLDL
decides: small values let degrees run to the corners of the triangle, large values pull them towards equal shares of the
positive labels. A path computes all of them and does the shared work once.
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
    ax.set_title(f"beta = {model.beta_:g}: {intersection(data.D, model.label_distributions_):.3f}", fontsize=10, pad=16)

# %%
# The number is the intersection with the truth. You have no truth, so ``beta=None`` chooses by a rule that was
# measured on data that do; :doc:`/defaults` has the measurements.
