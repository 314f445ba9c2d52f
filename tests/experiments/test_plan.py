import tomllib

import pytest
from tiny_plans import DATA, tiny_dict, tiny_plan

from ldlearn import all_estimators
from ldlearn.experiments import Plan, PlanError, load_plan, shipped_plans
from ldlearn.experiments.methods import grid_points, resolve_params


def plan_error(**changes):
    with pytest.raises(PlanError) as caught:
        tiny_plan(**changes)
    return str(caught.value)


@pytest.mark.parametrize("name", shipped_plans())
def test_included_plans_are_valid_and_round_trip(name):
    plan = load_plan(name)
    assert plan.name == name
    assert Plan.from_dict(tomllib.loads(plan.to_toml())) == plan


@pytest.mark.parametrize("name", shipped_plans())
def test_included_plans_contain_baselines(name):
    baselines = {method.estimator for method in load_plan(name).methods if method.is_baseline}
    assert {"FromClassifier", "UniformLE", "PriorLE"} <= baselines


def test_resolved_tiny_plan_round_trips():
    plan = tiny_plan(
        datasets={"made": DATA | {"rule": "cumulative", "total": 0.6}, "vader_tweets": {"rows": 50}}
    )
    assert Plan.from_dict(tomllib.loads(plan.to_toml())) == plan


@pytest.mark.parametrize(
    ("changes", "key", "hint"),
    [
        ({"methods": {"GLLE": {"grid": {"lamb": [1.0]}}}}, "methods.GLLE.grid.lamb:", "lam"),
        ({"methods": {"GLLE": {"grid": {"lam": [0.1, -1.0]}}}}, "methods.GLLE.grid.lam:", "-1.0"),
        ({"methods": {"GLLE": {"grid": {"lam": 0.1}}}}, "methods.GLLE.grid.lam:", "list"),
        ({"methods": {"DLDL": {"params": {"init": "zero"}}}}, "methods.DLDL.params.init:", "zero"),
        ({"methods": {"GLE": {}}}, "methods.GLE.estimator:", "GLLE"),
        (
            {"methods": {"x": {"estimator": "GLLE", "learner": "DLDL"}}},
            "methods.x.learner:",
            "no learner",
        ),
        (
            {"methods": {"x": {"estimator": "SABFGS", "learner": "SABFGS"}}},
            "methods.x.learner:",
            "itself",
        ),
        (
            {"methods": {"GLLE": {"learner_grid": {"l2": [1.0]}}}},
            "methods.GLLE.learner_grid.l2:",
            "no learner",
        ),
        ({"methods": {"GLLE": {"gird": {}}}}, "methods.GLLE.gird:", "grid"),
        (
            {"methods": {"x": {"like": "KM"}, "KM": {"gird": {}}}},
            "methods.KM.gird:",
            "grid",
        ),
        ({"methods": {"x": {"like": "GLLE"}}}, "methods.x.like:", "no method"),
        (
            {"methods": {"KM": {}, "x": {"like": "KM"}, "y": {"like": "x"}}},
            "methods.y.like:",
            "itself",
        ),
        ({"methods": {"KM": {"grid": "paper"}}}, "methods.KM.grid:", "states none for KM"),
        ({"methods": {"GLLE": {"grid": "papers"}}}, "methods.GLLE.grid:", "paper"),
        ({"display_names": {"DLD": "ours"}}, "display_names.DLD:", "DLDL"),
        ({"methods": {}}, "methods:", "at least one"),
        ({"methods": {"DLDL": 3}}, "methods.DLDL:", "table"),
        ({"datasets": []}, "datasets:", "at least one"),
        ({"datasets": ["natural_scen"]}, "datasets.natural_scen:", "natural_scene"),
        ({"datasets": {"made": DATA | {"rows": 3}}}, "datasets.made.rows:", "at least 10"),
        (
            {"datasets": {"made": {"generator": "artificial", "params": {"n": 3}}}},
            "datasets.made.params.n:",
            "n_samples",
        ),
        ({"protocol": {"repeats": 0}}, "protocol.repeats:", "at least 1"),
        ({"protocol": {"repeats": True}}, "protocol.repeats:", "True"),
        ({"protocol": {"split": "loo"}}, "protocol.split:", "k-fold"),
        ({"protocol": {"shares": [0.5, 0.5]}}, "protocol.shares:", "three"),
        ({"protocol": {"rule": "top-k"}}, "protocol.k:", "needs k"),
        ({"protocol": {"rule": "votes"}}, "protocol.k:", "needs k"),
        ({"protocol": {"treshold": 0.1}}, "protocol.treshold:", "threshold"),
        ({"protocol": {"threshold": 2}}, "protocol.threshold:", "0 to 1"),
        ({"selection": {"mode": "oracel"}}, "selection.mode:", "oracle"),
        ({"selection": {"recovery": "chebychev"}}, "selection.recovery:", "chebyshev"),
        (
            {"selection": {"mode": "logical", "recovery": "clark"}},
            "selection.recovery:",
            "prediction",
        ),
        ({"selection": {"recovery_rows": "test"}}, "selection.recovery_rows:", "training"),
        (
            {"selection": {"mode": "logical", "recovery_rows": "training"}},
            "selection.recovery_rows:",
            "prediction",
        ),
        ({"selection": {"budget": 1}}, "selection.budget:", "at least 2"),
        ({"selection": {"per_metric": "yes"}}, "selection.per_metric:", "true or false"),
        ({"metrics": ["klark"]}, "metrics:", "clark"),
        ({"metrics": ["kl"]}, "metrics:", "did you mean kl_divergence?"),
        (
            {"selection": {"prediction": "mse"}},
            "selection.prediction:",
            "did you mean mean_squared_error?",
        ),
        ({"discover": {"then": ["DLDL"]}}, "discover.then:", "learner"),
        ({"discover": {"params": {"GLLE": {"lamb": 1}}}}, "discover.params.GLLE.lamb:", "lam"),
        ({"discover": {"grids": {"GLE": {}}}}, "discover.grids.GLE:", "GLLE"),
        ({"method": {}}, "method:", "methods"),
    ],
)
def test_errors_name_the_key_and_the_remedy(changes, key, hint):
    message = plan_error(**changes)
    assert message.startswith(key)
    assert hint in message


def test_syntax_errors_name_file_and_line(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("datasets = [\n'vader_tweets'\n[methods.DLDL]\n")
    with pytest.raises(PlanError, match=r"mine\.toml is not valid TOML.*line 3"):
        load_plan(path)
    path.write_text("datasets = ['vader_tweets']\n[methods.DLDL]\ngrid = {alpha = [-1]}\n")
    with pytest.raises(PlanError, match=r"^mine\.toml: methods\.DLDL\.grid\.alpha: "):
        load_plan(path)
    with pytest.raises(PlanError, match="did you mean quick"):
        load_plan("quik")


def test_discovery_finds_every_method_and_explicit_entries_override():
    plan = tiny_plan(
        discover={
            "then": ["SABFGS"],
            "exclude": ["KM"],
            "params": {"LP": {"alpha": 0.3}},
            "grids": {"SABFGS": {"l2": [1.0]}},
        },
        methods={"DLDL": {"params": {"alpha": 0.5}}},
    )
    methods = {method.name: method for method in plan.methods}
    for name, estimator in all_estimators():
        if name in ("EnhanceThenLearn", "FromDistributions", "KM"):
            assert name not in methods
        elif estimator.kind == "enhancer":
            assert {methods[name].kind, methods[f"{name} + SABFGS"].kind} == {
                "enhancer",
                "two-step",
            }
        else:
            assert (f"{name} on truth" if estimator.kind == "learner" else name) in methods
    assert methods["DLDL"].params == {"alpha": 0.5}
    assert methods["LP + SABFGS"].params == {"alpha": 0.3}
    assert methods["LP + SABFGS"].learner_grid == methods["SABFGS on truth"].grid == {"l2": [1.0]}


def test_like_copies_estimator_parameters_and_grid():
    base = {"estimator": "GLLE", "params": {"n_neighbors": 5}, "grid": {"lam": [0.1, 1.0]}}
    pair = {"like": "first", "learner": "SABFGS", "params": {"n_neighbors": 7}}
    first, second = tiny_plan(methods={"first": base, "second": pair}).methods
    assert (second.estimator, second.grid, second.learner) == ("GLLE", first.grid, "SABFGS")
    assert (first.params, second.params) == ({"n_neighbors": 5}, {"n_neighbors": 7})


def test_published_settings_by_name():
    """The settings marked as published in the paper plan; explicit parameters override them."""
    names = {
        "A": {"estimator": "DLDL", "grid": "paper", "params": {"max_iter": 7}},
        "FCM": {"grid": "paper"},
    }
    names |= {
        "GLLE + SABFGS": {"estimator": "GLLE", "grid": "paper", "learner": "SABFGS"},
        "LDLSF": {"grid": "paper"},
    }
    found = {method.name: method for method in tiny_plan(methods=names).methods}
    published = {method.name: method for method in load_plan("paper").methods}
    assert found["A"].grid == published["DLDL (paper)"].grid
    assert found["A"].params == published["DLDL (paper)"].params | {"max_iter": 7}
    assert (found["FCM"].params, found["FCM"].grid) == (published["FCM"].params, {})
    assert found["GLLE + SABFGS"].grid == published["GLLE"].grid
    assert found["LDLSF"].params == published["LDLSF on truth (paper)"].params


def test_display_names_round_trip():
    plan = tiny_plan(display_names={"DLDL": "ours", "made": "Made up"})
    assert plan.display_names == {"DLDL": "ours", "made": "Made up"}
    assert Plan.from_dict(tomllib.loads(plan.to_toml())) == plan
    assert "display_names.DLDL: expected" in plan_error(display_names={"DLDL": 3})


def test_baselines_are_declared_by_the_class():
    plan = tiny_plan(discover={"then": ["SABFGS", "MeanLDL"]})
    baselines = {method.name for method in plan.methods if method.is_baseline}
    enhancers, joint = (
        {name for name, estimator in all_estimators(kind) if estimator.is_baseline}
        for kind in ("enhancer", "joint")
    )
    assert enhancers >= {"UniformLE", "PriorLE", "ProjectedPriorLE", "SoftmaxLE"}
    assert baselines == enhancers | joint | {"MeanLDL on truth"} | {
        f"{name} + MeanLDL" for name in enhancers
    }


def test_subject_is_a_method_of_the_plan():
    assert tiny_plan(subject="DLDL").subject == "DLDL"
    assert plan_error(subject="DLDDL").startswith(
        "subject: there is no method 'DLDDL'; did you mean DLDL"
    )


def test_data_paths_are_relative_to_the_plan_and_identified_by_content(tmp_path):
    (tmp_path / "faces.csv").write_text("w,joy,fear\n" + "1.5,0.75,0.25\n" * 20)
    path = tmp_path / "mine.toml"
    path.write_text(
        "[datasets.faces]\npath = 'faces.csv'\nlabels = ['joy', 'fear']\n[methods.UniformLE]\n"
    )
    spec = load_plan(path).datasets[0]
    assert spec.path == str(tmp_path / "faces.csv")
    assert spec.load().D.shape == (20, 2)
    before = spec.sha256
    (tmp_path / "faces.csv").write_text("w,joy,fear\n" + "1.5,0.25,0.75\n" * 20)
    assert load_plan(path).datasets[0].sha256 != before


def test_grid_points_and_sizes():
    assert grid_points({"a": [1, 2], "b": ["x", "y"]})[1] == {"a": 1, "b": "y"}
    assert grid_points({}) == [{}]
    sizes = {"n_train": 100, "n_features": 20, "n_labels": 5}
    assert resolve_params(
        {"a": "10*c", "b": "0.5*m", "c": "2e-1*n", "d": "default", "e": "median"}, sizes
    ) == {
        "a": 50,
        "b": 10.0,
        "c": 20.0,
        "d": None,
        "e": "median",
    }
    assert isinstance(resolve_params({"a": "10*c"}, sizes)["a"], int)


def test_k_fold_counts_folds():
    assert tiny_plan(protocol={"split": "k-fold", "folds": 5}).protocol.n_repeats == 5
    assert Plan.from_dict(tiny_dict()).protocol.n_repeats == 2
    assert tiny_plan(protocol={"shares": "60/20/20"}).protocol.shares == (0.6, 0.2, 0.2)


@pytest.mark.parametrize(
    "selection",
    [
        {"mode": "logical", "budget": 5},
        {"recovery": "clark", "recovery_rows": "training", "per_metric": True},
    ],
)
def test_resolved_plan_can_be_read_again(selection):
    plan = tiny_plan(selection=selection)
    assert Plan.from_dict(tomllib.loads(plan.to_toml())) == plan
