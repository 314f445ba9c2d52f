"""
What do different methods make of the same labels?
==================================================

A surface of 2,601 points in a space of three features. Each point has three degrees, drawn as red, green and blue. The
methods see the features and 0/1 labels: which labels make up more than half of the mass. Here a 0 does not mean
"none of it", it means "less than the others".
"""

from ldlearn import DLDL, GLLE, UniformLE
from ldlearn.datasets import make_artificial
from ldlearn.reporting import ArtificialPictureDisplay

surface = make_artificial("manifold")
Y = surface.logical(rule="cumulative")

pictures = ArtificialPictureDisplay(
    {
        "equal shares": UniformLE().fit_enhance(surface.X, Y),
        "DLDL": DLDL().fit_enhance(surface.X, Y),
        "GLLE": GLLE(lam=1.0).fit_enhance(surface.X, Y),
    }
).plot()

# %%
# Equal shares have only as many colours as there are sets of labels. DLDL keeps a degree at zero where the label is
# zero, which is the wrong belief here. GLLE lets labels leak to neighbours, and comes closer. Which belief suits your
# table is the first question of :doc:`/which_method`.
