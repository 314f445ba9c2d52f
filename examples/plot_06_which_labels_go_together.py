"""
Which labels go together?
=========================

Inspect the labels before fitting a method. Each entry is the fraction of the genes with the
function of the row that also have the function of the column. A label that is nearly always
positive carries little information, and no method can distinguish two labels that always occur
together.
"""

from ldlearn.datasets import load_yeast
from ldlearn.reporting import CooccurrenceDisplay

yeast = load_yeast()
together = CooccurrenceDisplay(yeast.Y, label_names=yeast.label_names).plot()

# %% Two labels are positive in three of four rows: their columns are dark. They carry little
# information about a single gene.
