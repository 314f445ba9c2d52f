"""DLDLCV: what held-out labels, or some true degrees, choose."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.ensemble import RandomTreesEmbedding

from ldlearn import DLDL, DLDLCV, VoteLDL
from ldlearn.core import softmax
from ldlearn.datasets import make_label_distributions, make_logical_labels
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.joint.point_selection import Candidate, ValidationScores, is_significantly_better, select_candidate
from ldlearn.joint.validation import Fold
from ldlearn.metrics import intersection
from ldlearn.reporting import SensitivityDisplay
from ldlearn.tables import fit_table, load_model

QUICK = {"gamma_ratios": (0.3, 1.0), "cv": 2, "random_state": 0}


@pytest.fixture(scope="module")
def curved():
    """Degrees that follow squares and products of the features: no linear predictor sees them."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    a, b = X.T
    D = softmax(2.0 * np.column_stack([a * b, -a * b, a**2 - 1, b**2 - 1]))
    return SimpleNamespace(X=X, D=D, Y=make_logical_labels(D, labels="votes", n_raters=20, random_state=0))


@pytest.fixture(scope="module")
def straight():
    return make_label_distributions(400, 6, 5, labels="votes", n_raters=20)


@pytest.fixture(scope="module")
def search(curved):
    return DLDLCV(**QUICK).fit(curved.X[:300], curved.Y[:300])


def test_held_out_labels_choose_the_feature_map(curved, straight, search):
    assert search.best_params_["feature_map"] == "rbf"
    plain = DLDL().fit(curved.X[:300], curved.Y[:300])
    D, X = curved.D[300:], curved.X[300:]
    assert intersection(D, search.predict(X)) > intersection(D, plain.predict(X)) + 0.05
    linear = DLDLCV(**QUICK).fit(straight.X, straight.Y)
    assert linear.best_params_["feature_map"] is None


def test_results_have_the_form_of_scikit_learn(search):
    found = search.cv_results_
    assert search.n_splits_ == 2
    assert len(found["params"]) == 4  # two gammas, two maps
    splits = np.column_stack([found["split0_test_score"], found["split1_test_score"]])
    np.testing.assert_allclose(found["mean_test_score"], splits.mean(axis=1))
    np.testing.assert_allclose(found["std_test_score"], splits.std(axis=1))
    assert (found["mean_test_score"] < 0).all()
    assert found["rank_test_score"][np.argmax(found["mean_test_score"])] == 1
    assert search.best_score_ == found["mean_test_score"][search.best_index_]
    assert search.best_params_ == found["params"][search.best_index_]
    for name, value in search.best_params_.items():
        assert found[f"param_{name}"][search.best_index_] == value
    assert pd.DataFrame(found).shape[0] == 4


def test_the_best_model_is_a_plain_dldl_with_these_weights(curved, search):
    again = DLDL(random_state=0, **search.best_params_).fit(curved.X[:300], curved.Y[:300])
    new = curved.X[300:]
    np.testing.assert_allclose(search.predict(new), again.predict(new), atol=1e-12)
    np.testing.assert_allclose(search.enhance(new, curved.Y[300:]), again.enhance(new, curved.Y[300:]), atol=1e-12)
    assert search.choice_.startswith("alpha=0, beta=")


def test_processes_change_nothing(straight):
    one = DLDLCV(feature_maps=(None,), **QUICK).fit(straight.X, straight.Y)
    with parallel_config(backend="threading"):  # processes take long to start
        two = DLDLCV(feature_maps=(None,), n_jobs=2, **QUICK).fit(straight.X, straight.Y)
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(one.predict(straight.X), two.predict(straight.X))


def test_weights_are_those_of_the_rule_even_where_likelihood_likes_others(straight):
    """Labels are likelier under weights that are too large."""
    plain = DLDL().fit(straight.X, straight.Y)
    tried = DLDLCV(gamma_ratios=(0.3, 1.0, 3.0), feature_maps=(None,), cv=2).fit(straight.X, straight.Y)
    assert tried.best_params_["gamma"] == pytest.approx(plain.gamma_)
    assert tried.best_params_["beta"] == pytest.approx(plain.beta_)
    assert np.argmax(tried.cv_results_["mean_test_score"]) == 2
    np.testing.assert_allclose(tried.predict(straight.X), plain.predict(straight.X), atol=1e-6)


def test_weights_that_the_estimator_has_stand_for_the_rule(straight):
    given = DLDLCV(DLDL(beta=2.0, gamma=0.7), feature_maps=(None,), cv=2).fit(straight.X, straight.Y)
    assert given.best_params_ == {"alpha": 0.0, "beta": 2.0, "gamma": 0.7, "feature_map": None}
    assert given.choice_.startswith("alpha=0, beta=2, gamma=0.7, feature_map=None: ")


def test_trees_are_a_predictor_like_any(curved):
    trees = RandomTreesEmbedding(10, max_depth=3, random_state=0)
    model = DLDLCV(DLDL(max_iter=2), feature_maps=(None, trees), cv=2).fit(curved.X[:300], curved.Y[:300])
    assert model.best_params_["feature_map"] is trees
    assert model.cv_results_["param_feature_map"][1].startswith("RandomTreesEmbedding(")
    D, X = curved.D[300:], curved.X[300:]
    plain = DLDL().fit(curved.X[:300], curved.Y[:300])
    assert intersection(D, model.predict(X)) > intersection(D, plain.predict(X)) + 0.05


def test_beta_is_that_of_the_rule_even_where_likelihood_likes_another(straight):
    rule = DLDL().fit(straight.X, straight.Y).beta_
    free = DLDLCV(feature_maps=(None,), **QUICK).fit(straight.X, straight.Y)
    assert free.best_params_["beta"] == pytest.approx(rule)
    betas = (rule / 2, rule * 2.2, rule * 30)
    tried = DLDLCV(betas=betas, feature_maps=(None,), **QUICK).fit(straight.X, straight.Y)
    assert tried.best_params_["beta"] == betas[0]
    assert tried.cv_results_["rank_test_score"][tried.best_index_] > 1  # twice the rule's makes labels likelier
    assert len(tried.cv_results_["params"]) == 6


@pytest.mark.parametrize("scoring", ["prediction", "recovery"])
def test_known_degrees_correct_a_wrong_belief(straight, scoring):
    """Whoever says "presence" of labels that are votes gets equal shares, until some true degrees speak."""
    degrees = np.full(straight.D.shape, np.nan)
    degrees[::4] = straight.D[::4]
    wrong = DLDLCV(DLDL(label_model="presence"), feature_maps=(None,), scoring=scoring, **QUICK)
    blind = wrong.fit(straight.X, straight.Y).best_params_["beta"]
    assert blind == 100
    told = wrong.fit(straight.X, straight.Y, degrees=degrees)
    assert told.best_params_["beta"] <= 10
    assert 0 < told.best_score_ <= 1
    assert "nearest to the held-out degrees" in told.choice_
    np.testing.assert_allclose(told.label_distributions_[::4], straight.D[::4], atol=1e-12)
    assert (told.cv_results_["mean_test_log_likelihood"] < 0).all()


def test_few_known_degrees_do_not_overrule_the_labels(straight):
    degrees = np.full(straight.D.shape, np.nan)
    degrees[0] = straight.D[0]
    free, told = (
        DLDLCV(gamma_ratios=(1.0,), feature_maps=(None,), cv=2).fit(straight.X, straight.Y, degrees=known)
        for known in (None, degrees)
    )
    assert told.best_params_ == free.best_params_
    assert "nothing is significantly nearer to the known degrees (1 rows)" in told.choice_


@pytest.mark.parametrize("seed", range(4))
def test_every_fold_has_its_share_of_the_known_rows(seed):
    rng = np.random.default_rng(seed)
    D = np.full((60, 2), np.nan)
    D[rng.permutation(60)[:3]] = 0.5
    folds = DLDLCV(cv=3)._folds(rng.normal(size=(60, 2)), D)
    assert [int(np.isfinite(D[fold.test, 0]).sum()) for fold in folds] == [1, 1, 1]


def test_a_difference_that_may_be_chance_decides_nothing():
    rng = np.random.default_rng(0)
    noise, ones = rng.normal(size=100), np.ones(100)
    noise -= noise.mean() - 0.05  # a mean of half a standard error
    nothing = np.zeros(100)
    assert not is_significantly_better(noise, nothing, ones)
    assert is_significantly_better(noise + 0.3, nothing, ones)
    assert not is_significantly_better(noise[:1] + 9.0, nothing[:1], ones[:1])


def test_degrees_are_matched_by_name(straight):
    names = list("abcde")
    y = pd.DataFrame(straight.Y, columns=names)
    degrees = pd.DataFrame(np.where(np.arange(400)[:, None] % 4, np.nan, straight.D), columns=names)
    search = DLDLCV(betas=(1.0,), gamma_ratios=(1.0,), feature_maps=(None,), cv=2)
    in_order = search.fit(straight.X, y, degrees=degrees).best_score_
    assert search.fit(straight.X, y, degrees=degrees[names[::-1]]).best_score_ == pytest.approx(in_order)


def test_weights_and_unknown_labels_reach_every_fit(straight):
    """Rows of another world that count for nearly nothing, and labels nobody has seen, change nothing that matters."""
    strange = np.vstack([straight.Y[:300], 1 - straight.Y[300:]])
    strange[strange.sum(axis=1) == 0, 0] = 1
    search = DLDLCV(feature_maps=(None,), **QUICK)
    plain = search.fit(straight.X[:300], straight.Y[:300])
    P = plain.predict(straight.X)
    misled = search.fit(straight.X, strange).predict(straight.X)
    weighed = search.fit(straight.X, strange, np.where(np.arange(400) < 300, 1.0, 1e-3)).predict(straight.X)
    unknown = strange.astype(float)
    unknown[300:] = np.nan
    blind = search.fit(straight.X, unknown).predict(straight.X)
    near, far = (intersection(P, other) for other in (weighed, misled))
    assert near > far + 0.02
    assert intersection(P, blind) > far + 0.02


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda D: D[:-1], "400 rows and 5 columns"),
        (lambda D: np.full_like(D, np.nan), "unknown in every row"),
        (lambda D: np.where(np.arange(5) == 2, np.nan, D), "all known or all NaN"),
        (lambda D: 2 * D, "sum to 1"),
    ],
)
def test_impossible_degrees_are_refused(straight, spoil, message):
    search = DLDLCV(**QUICK)
    before = dict(vars(search))
    with pytest.raises(InputError, match=message):
        search.fit(straight.X, straight.Y, degrees=spoil(straight.D))
    assert vars(search) == before


def test_three_rows_are_fitted_without_a_choice(straight):
    model = DLDLCV(feature_maps=(None,)).fit(straight.X[:3], straight.Y[:3])
    assert model.n_splits_ == 0
    assert np.isnan(model.best_score_)
    assert "too few rows" in model.choice_


def test_a_model_file_of_a_search_predicts_the_same(tmp_path, straight):
    table = pd.DataFrame(straight.X[:120], columns=[f"x{k}" for k in range(6)])
    labels = [f"label {j}" for j in range(5)]
    table[labels] = straight.Y[:120]
    table.to_csv(tmp_path / "rows.csv", index=False)
    params = {"cv": 2, "gamma_ratios": (1.0,), "feature_maps": (None, "rbf"), "random_state": 0}
    path = str(tmp_path / "model.ldl")
    model = fit_table(str(tmp_path / "rows.csv"), labels, path, method="DLDLCV", params=params, holdout=0)
    again = load_model(path)
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert again.estimator.best_params_ == model.estimator.best_params_


def test_the_surface_can_be_drawn(search):
    display = SensitivityDisplay.from_estimator(search)
    varied = [
        name for name in ("alpha", "beta", "gamma", "feature_map") if len(set(search.cv_results_[f"param_{name}"])) > 1
    ]
    assert display.parameters == varied
    assert "feature_map" in varied
    one = DLDLCV(gamma_ratios=(1.0,), feature_maps=(None,), cv=2).fit(np.arange(20.0).reshape(-1, 1), np.ones((20, 2)))
    with pytest.raises(InputError, match="nothing to draw"):
        SensitivityDisplay.from_estimator(one)


@pytest.mark.parametrize("wrong", [{"alphas": ()}, {"betas": []}, {"gamma_ratios": ()}, {"feature_maps": []}])
def test_an_empty_grid_is_one_sentence(straight, wrong):
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} is empty"):
        DLDLCV(**wrong).fit(straight.X, straight.Y)


@pytest.mark.parametrize("name", ["alphas", "betas", "gamma_ratios"])
def test_a_grid_without_numbers_is_one_sentence(straight, name):
    with pytest.raises(ParameterError, match=f"{name} must hold numbers, got 'small'"):
        DLDLCV(**{name: ["small"]}).fit(straight.X, straight.Y)


@pytest.mark.parametrize("other", [VoteLDL(), DLDL], ids=["VoteLDL", "class"])
def test_only_a_dldl_is_searched(straight, other):
    with pytest.raises(ParameterError, match="'estimator' parameter"):
        DLDLCV(other).fit(straight.X, straight.Y)


def test_the_words_say_that_another_map_is_likelier(search):
    assert "significantly likelier" in search.choice_
    assert "no setting" not in search.choice_


def test_few_rows_do_not_speak_for_the_best_of_many_points():
    """Pure noise: the largest of forty means over five rows is far above 1.645 standard errors more often than not."""
    rng = np.random.default_rng(0)
    params = {"alpha": 0.0, "beta": 1.0, "gamma": 1.0, "feature_map": None}
    candidates = [Candidate(params, k == 0, "") for k in range(40)]
    folds = [Fold(np.arange(5), np.arange(5))]

    def selected():
        scores = ValidationScores(folds, np.ones(5), np.zeros((40, 5)), rng.normal(size=(40, 5)))
        return select_candidate(candidates, scores)[0]

    assert sum(selected() != 0 for _ in range(100)) <= 12


def test_a_dldl_that_gives_frames_is_searched_too(straight):
    frames = DLDL(beta=1.0, gamma=1.0).set_output(transform="polars")
    told = np.where(np.arange(60)[:, None] < 20, straight.D[:60], np.nan)
    options = {"betas": (1.0,), "gamma_ratios": (1.0,), "feature_maps": (None,), "cv": 2, "scoring": "recovery"}
    X, Y = straight.X[:60], straight.Y[:60]
    plain, framed = (DLDLCV(model, **options).fit(X, Y, degrees=told) for model in (DLDL(beta=1.0, gamma=1.0), frames))
    assert framed.best_score_ == plain.best_score_
