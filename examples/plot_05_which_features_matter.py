"""
Which features push a label up?
===============================

British households and what they spend on six kinds of goods. The predictor of DLDL is linear, so each label has one
weight for each feature. A weight to the right: more of this feature, more of this label, at the cost of the others.
The features are standardised first, because weights of pounds and of years cannot be compared.
"""

import pandas as pd
from sklearn.preprocessing import StandardScaler

from ldlearn import DLDL
from ldlearn.datasets import load_uk_budget_shares
from ldlearn.reporting import FeatureInfluenceDisplay

budgets = load_uk_budget_shares()
X = pd.DataFrame(StandardScaler().fit_transform(budgets.X), columns=budgets.feature_names)
Y = pd.DataFrame(budgets.logical(rule="cumulative"), columns=budgets.label_names)

model = DLDL().fit(X, Y)
food = FeatureInfluenceDisplay.from_estimator(model, "food")

# %%
# Poorer households spend a larger part on food. Engel wrote that down in 1857; here it comes out of 0/1 labels.
