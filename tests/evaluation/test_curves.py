import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from ldlearn.evaluation import search_curves


def test_curves_of_a_search_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ rng.normal(size=3) + rng.normal(size=40)
    grid = {"alpha": [10.0, 0.1, 1.0], "fit_intercept": [True, False], "solver": ["cholesky"]}
    search = GridSearchCV(Ridge(), grid, cv=3).fit(X, y)
    alpha, intercept = search_curves(search.cv_results_, search.best_params_)
    assert (alpha.parameter, alpha.values) == ("alpha", [0.1, 1.0, 10.0])
    assert alpha.selected == [search.best_params_["alpha"]]
    assert (intercept.values, intercept.selected) == (
        [True, False],
        [search.best_params_["fit_intercept"]],
    )
    for curve in (alpha, intercept):
        for value, mean, std in zip(curve.values, curve.mean, curve.std, strict=True):
            tried = [
                k
                for k, params in enumerate(search.cv_results_["params"])
                if params[curve.parameter] == value
            ]
            best = max(tried, key=lambda k: search.cv_results_["mean_test_score"][k])
            assert mean == search.cv_results_["mean_test_score"][best]
            assert std == search.cv_results_["std_test_score"][best]
