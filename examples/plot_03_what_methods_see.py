"""
What degrees do methods recover from the same labels?
=====================================================

A surface of 2,601 points with three features. Each point has three degrees, drawn as red, green and
blue. The methods are fitted on the features and on 0/1 labels: the largest degrees that sum to more
than one half are positive. A negative label therefore means "less than the others", not "none".
"""

from ldlearn import DLDL, GLLE, UniformLE
from ldlearn.datasets import make_artificial
from ldlearn.reporting import ArtificialPictureDisplay

surface = make_artificial("manifold")
Y = surface.logical(rule="cumulative")

pictures = ArtificialPictureDisplay(
    {
        "equal degrees": UniformLE().fit_enhance(surface.X, Y),
        "DLDL": DLDL().fit_enhance(surface.X, Y),
        "GLLE": GLLE(lam=1.0).fit_enhance(surface.X, Y),
    }
).plot()

# %% Equal degrees give one colour for each set of positive labels. DLDL sets the degrees of
# negative labels to zero, which is wrong here. GLLE smooths labels over neighbours and is closer to
# the truth. Which assumption fits your table is the first question of :doc:`/which_method`.
