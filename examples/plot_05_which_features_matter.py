"""
Which features increase a degree?
=================================

British households and their spending on six kinds of goods. The predictor of DLDL is linear and has
one coefficient for each label and feature. A bar to the right means: the larger the feature, the
larger the degree of this label, at the expense of the others. Features are standardised, since
coefficients of pounds and of years cannot be compared.
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

# %% Poorer households spend a larger part of their budget on food (Engel's law, 1857): here it is
# found from 0/1 labels.
