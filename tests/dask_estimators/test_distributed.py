"""Estimators on Dask collections give the results of local fits, on threads and on processes."""

import os
import pickle
import signal

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import StandardScaler
from tiny_plans import tiny_plan

from ldlearn import DLDL, SABFGS, VoteLDL
from ldlearn import dask as ld
from ldlearn.dask.cluster import BlockRunner
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.experiments import run_plan
from ldlearn.joint.alternation import alternate

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

# Warnings of Dask about lost or busy workers.
pytestmark = pytest.mark.filterwarnings("ignore")

GIVEN = {"beta": 0.3, "gamma": 0.3, "max_iter": 1}
TWICE = GIVEN | {
    "max_iter": 2
}  # for tests of the steps: the second one is warm-started by the first
UNEVEN = {1: (700,), 3: (300, 1, 399), 7: (200, 50, 1, 149, 120, 80, 100)}
PLACES = [(1, "client"), (3, "client"), (7, "client_of_processes")]


@pytest.fixture(scope="module")
def rows():
    data = make_label_distributions(700, 6, 4, labels="votes", random_state=0)
    return data.X, data.Y


def in_blocks(A, chunks):
    return da.from_array(A, chunks=(chunks, -1))


@pytest.fixture(scope="module")
def local(rows):
    return DLDL(**GIVEN).fit(*rows)


@pytest.fixture(scope="module")
def fitted(rows, client):
    return ld.DaskDLDL(**GIVEN, client=client).fit(*(in_blocks(A, UNEVEN[3]) for A in rows))


@pytest.fixture(scope="module")
def local_twice(rows):
    return DLDL(**TWICE).fit(*rows)


@pytest.mark.parametrize(("count", "place"), PLACES)
def test_fit_in_blocks_equals_local_fit(rows, local_twice, request, count, place):
    client, local = request.getfixturevalue(place), local_twice
    X, Y = (in_blocks(A, UNEVEN[count]) for A in rows)
    model = ld.DaskDLDL(**TWICE, client=client).fit(X, Y)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, local.intercept_, atol=1e-6)
    D = client.compute(model.label_distributions_, sync=True)
    np.testing.assert_allclose(D, local.label_distributions_, atol=1e-6)
    np.testing.assert_allclose(model.objective_path_, local.objective_path_, rtol=1e-9)
    gap = client.compute(model.gap_, sync=True)
    assert gap.shape == (700,)
    assert gap.mean() <= model.tol
    assert model.votes_per_row_ == pytest.approx(local.votes_per_row_, rel=1e-6)
    assert (model.n_iter_, model.converged_) == (local.n_iter_, local.converged_)
    assert {name for name in vars(local) if name.endswith("_")} <= set(vars(model))


def test_selection_with_wide_rows_equals_local_selection(client):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(40, 120)), rng.random((40, 4)) < 0.5
    Y[np.arange(40), rng.integers(0, 4, 40)] = True
    one = DLDL(max_iter=1).fit(X, Y)
    several = ld.DaskDLDL(max_iter=1, client=client).fit(in_blocks(X, 20), in_blocks(Y, 20))
    assert (several.beta_, several.gamma_) == pytest.approx((one.beta_, one.gamma_), rel=1e-3)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"init": "pseudo", "fit_intercept": False, **TWICE},
        {"feature_map": "rbf", **TWICE},
        {"feature_map": Nystroem(n_components=20, random_state=0), **TWICE},
    ],
    ids=["weights chosen", "pseudo", "rbf", "nystroem"],
)
def test_other_parameters_equal_local_fit(rows, client, params):
    X, Y = (in_blocks(A[:, :4], UNEVEN[3]) for A in rows)
    model = ld.DaskDLDL(**params, client=client).fit(X, Y)
    local = DLDL(**params).fit(rows[0][:, :4], rows[1])
    assert (model.beta_, model.selection_summary_) == (local.beta_, local.selection_summary_)
    assert model.gamma_ == pytest.approx(local.gamma_, rel=1e-9)
    D = client.compute(model.label_distributions_, sync=True)
    np.testing.assert_allclose(D, local.label_distributions_, atol=1e-6)


@pytest.mark.parametrize("name", ["DLDL", "VoteLDL"])
def test_selection_with_feature_maps_equals_local_selection(client, name):
    data = make_label_distributions(150, 5, 4, labels="votes", random_state=0)
    params = {"feature_map": "rbf", "max_iter": 2}
    X, Y = (in_blocks(A, (90, 60)) for A in (data.X, data.Y))
    model = getattr(ld, f"Dask{name}")(**params, client=client).fit(X, Y)
    local = {"DLDL": DLDL, "VoteLDL": VoteLDL}[name](**params).fit(data.X, data.Y)
    np.testing.assert_array_equal(
        model.feature_map_.component_indices_, local.feature_map_.component_indices_
    )
    np.testing.assert_allclose(
        model.feature_map_.components_, local.feature_map_.components_, atol=1e-12
    )
    assert model.gamma_ == pytest.approx(local.gamma_, rel=1e-6)
    D = client.compute(model.label_distributions_, sync=True)
    np.testing.assert_allclose(D, local.label_distributions_, atol=1e-6)


def test_selection_uses_the_sample_of_local_fits(client, monkeypatch):
    data = make_label_distributions(3000, 3, 3, labels="votes", random_state=1)
    monkeypatch.setattr("ldlearn.dask.rows._MAX_LOCAL_ROWS", 0)
    Y, weights = np.where(data.X[:, :1] > 1.5, np.nan, data.Y), np.linspace(0.5, 2.0, 3000)
    X, rest = in_blocks(data.X, (1000, 2000)), da.from_array(weights, chunks=1000)
    model = ld.DaskDLDL(max_iter=1, client=client).fit(
        X, in_blocks(Y, (1000, 2000)), sample_weight=rest
    )
    local = DLDL(max_iter=1).fit(data.X, Y, sample_weight=weights)
    assert (model.beta_, model.selection_summary_) == (local.beta_, local.selection_summary_)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-6)


def test_float32_stays_float32(rows, client):
    X = rows[0].astype(np.float32)
    model = ld.DaskDLDL(**GIVEN, client=client).fit(
        in_blocks(X, UNEVEN[3]), in_blocks(rows[1], UNEVEN[3])
    )
    assert model.label_distributions_.dtype == np.float32
    D = client.compute(model.label_distributions_, sync=True)
    np.testing.assert_allclose(D, DLDL(**GIVEN).fit(X, rows[1]).label_distributions_, atol=1e-6)


def test_sa_bfgs_in_blocks_equals_local_fit(rows, local, client_of_processes):
    X, D = in_blocks(rows[0], UNEVEN[3]), in_blocks(local.label_distributions_, UNEVEN[3])
    weights = np.linspace(0.5, 2.0, 700)
    model = ld.DaskSABFGS(l2=0.3, client=client_of_processes).fit(
        X, D, sample_weight=da.from_array(weights, chunks=100)
    )
    one = SABFGS(l2=0.3).fit(rows[0], local.label_distributions_, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, one.coef_, atol=1e-6)
    np.testing.assert_allclose(
        client_of_processes.compute(model.predict(X), sync=True), one.predict(rows[0]), atol=1e-6
    )
    assert model.score(X, D) == pytest.approx(
        one.score(rows[0], local.label_distributions_), rel=1e-6
    )
    assert type(model.to_local()) is SABFGS
    with pytest.raises(ParameterError, match="the solver is 'newton', not 'lbfgs'"):
        ld.DaskSABFGS(solver="lbfgs", client=client_of_processes).fit(X, D)


@pytest.fixture(scope="module")
def partly(rows):
    """Labels with unknown entries, and sample weights."""
    rng = np.random.default_rng(0)
    return np.where(rng.random(rows[1].shape) < 0.1, np.nan, rows[1]), rng.uniform(
        0.5, 2.0, len(rows[0])
    )


@pytest.mark.parametrize(
    "params",
    [
        TWICE,
        {"init": "pseudo", "fit_intercept": False, **TWICE},
        {"ordered": 0.5, **TWICE},
        {"max_iter": 2},
    ],
    ids=["given", "pseudo", "ordered", "chosen"],
)
def test_sample_weights_and_unknown_labels_equal_local_fit(rows, partly, client, params):
    X, Y, weights = (
        in_blocks(rows[0], UNEVEN[3]),
        in_blocks(partly[0], UNEVEN[3]),
        da.from_array(partly[1], chunks=300),
    )
    model = ld.DaskDLDL(**params, client=client).fit(X, Y, sample_weight=weights)
    local = DLDL(**params).fit(rows[0], partly[0], sample_weight=partly[1])
    assert (model.beta_, model.selection_summary_) == (local.beta_, local.selection_summary_)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-6)
    np.testing.assert_allclose(model.objective_path_, local.objective_path_, rtol=1e-9)
    D = client.compute(model.label_distributions_, sync=True)
    np.testing.assert_allclose(D, local.label_distributions_, atol=1e-6)
    assert model.votes_per_row_ == pytest.approx(local.votes_per_row_, rel=1e-6)
    score = local.score(rows[0], partly[0], sample_weight=partly[1])
    assert model.score(X, Y, sample_weight=weights) == pytest.approx(score, rel=1e-6)


def test_sample_weights_as_series(rows, partly, client):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(rows[0]).assign(weight=partly[1])
    table = dd.from_pandas(table.rename(columns=str), npartitions=3)
    Y = dd.from_pandas(pd.DataFrame(rows[1].astype(int), columns=list("abcd")), npartitions=3)
    X = table[[column for column in table.columns if column != "weight"]]
    model = ld.DaskDLDL(**GIVEN, client=client).fit(X, Y, sample_weight=table["weight"])
    local = DLDL(**GIVEN).fit(*rows, sample_weight=partly[1])
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(700), "sample_weight must be a Dask array or series"),
        (da.ones(600), "X has 700 rows and sample_weight has 600"),
        (
            da.arange(700, chunks=350),
            r"Block 0 .*must be positive and finite, got 0 at row 0; leave it out",
        ),
        (da.ones((700, 1)), "sample_weight must be a Dask array or series, one number a row"),
    ],
)
def test_invalid_sample_weights_raise(rows, client, weights, message):
    X, Y = (in_blocks(A, UNEVEN[1]) for A in rows)
    with pytest.raises(InputError, match=message):
        ld.DaskDLDL(**GIVEN, client=client).fit(X, Y, sample_weight=weights)


def test_label_without_known_values_raises(rows, client):
    Y = np.where([False, False, True, False], np.nan, rows[1])
    with pytest.raises(InputError, match=r"'label_2' .column 2 of y. is unknown in every row"):
        ld.DaskDLDL(**GIVEN, client=client).fit(
            in_blocks(rows[0], UNEVEN[3]), in_blocks(Y, UNEVEN[3])
        )


VOTES = {"gamma": 1.0, "max_iter": 8}


@pytest.mark.parametrize(("count", "place"), PLACES)
def test_vote_ldl_in_blocks_equals_local_fit(rows, partly, request, count, place):
    client = request.getfixturevalue(place)
    X, Y = in_blocks(rows[0], UNEVEN[count]), in_blocks(partly[0], UNEVEN[count])
    weights = da.from_array(partly[1], chunks=(UNEVEN[count],))
    model = ld.DaskVoteLDL(**VOTES, client=client).fit(X, Y, sample_weight=weights)
    local = VoteLDL(**VOTES).fit(rows[0], partly[0], sample_weight=partly[1])
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-6)
    assert model.lambda_ == pytest.approx(local.lambda_, rel=1e-6)
    np.testing.assert_allclose(model.objective_path_, local.objective_path_, rtol=1e-9)
    D = client.compute(model.label_distributions_, sync=True)
    np.testing.assert_allclose(D, local.label_distributions_, atol=1e-6)
    assert {name for name in vars(local) if name.endswith("_")} <= set(vars(model))
    enhanced = client.compute(model.enhance(X, Y), sync=True)
    np.testing.assert_allclose(enhanced, local.enhance(rows[0], partly[0]), atol=1e-6)


def test_vote_ldl_with_selected_penalty_and_without_intercept(rows, client):
    X, Y = (in_blocks(A, UNEVEN[3]) for A in rows)
    model = ld.DaskVoteLDL(fit_intercept=False, max_iter=6, client=client).fit(X, Y)
    local = VoteLDL(fit_intercept=False, max_iter=6).fit(*rows)
    assert model.gamma_ == pytest.approx(local.gamma_, rel=1e-9)
    np.testing.assert_allclose(model.to_local().predict(rows[0]), local.predict(rows[0]), atol=1e-6)
    with pytest.raises(InputError, match="On Dask collections n_raters cannot be given"):
        model.fit(X, Y, n_raters=np.ones(700))


class Killer:
    """Kills a worker after the first W-step."""

    def __init__(self, client):
        self.client, self.killed = client, None

    def __call__(self):
        if self.killed is None:
            holders = [address for address, keys in self.client.has_what().items() if keys]
            self.killed = self.client.run(os.getpid, workers=holders[:1])[holders[0]]
            os.kill(self.killed, signal.SIGKILL)


def test_fit_survives_a_lost_worker(rows, local_twice, client_of_processes, after_steps):
    X, Y = (in_blocks(A, UNEVEN[7]) for A in rows)
    killer = Killer(client_of_processes)
    after_steps(killer)
    model = ld.DaskDLDL(**TWICE, client=client_of_processes).fit(X, Y)
    assert killer.killed is not None
    np.testing.assert_allclose(model.coef_, local_twice.coef_, atol=1e-6)
    D = client_of_processes.compute(model.label_distributions_, sync=True)
    np.testing.assert_allclose(D, local_twice.label_distributions_, atol=1e-6)


def test_predictions_are_lazy_and_equal_local_predictions(rows, local, client, fitted):
    model, X, Y = fitted, *(in_blocks(A, UNEVEN[3]) for A in rows)
    broken = X.map_blocks(lambda block: 1 / 0, dtype=float, meta=np.empty((0, 0)))
    assert model.predict(broken).shape == (700, 4)  # nothing has been computed
    assert model.enhance(broken, Y).chunks == (UNEVEN[3], (4,))
    predicted, enhanced = client.compute([model.predict(X), model.enhance(X, Y)], sync=True)
    np.testing.assert_allclose(predicted, local.predict(rows[0]), atol=1e-6)
    np.testing.assert_allclose(enhanced, local.enhance(*rows), atol=1e-6)
    assert model.score(X, Y) == pytest.approx(local.score(*rows), rel=1e-6)
    with pytest.raises(InputError, match=r"ldlearn\.metrics\.intersection"):
        model.score(X, in_blocks(local.predict(rows[0]), UNEVEN[3]))


def test_to_local_estimator(rows, local, fitted):
    ordinary = fitted.to_local()
    assert type(ordinary) is DLDL
    assert ordinary.get_params() == DLDL(**GIVEN).get_params()
    np.testing.assert_allclose(ordinary.label_distributions_, local.label_distributions_, atol=1e-6)
    np.testing.assert_allclose(ordinary.predict(rows[0]), local.predict(rows[0]), atol=1e-6)
    small = pickle.loads(pickle.dumps(fitted.to_local(training_rows=False)))
    assert not hasattr(small, "label_distributions_")
    with pytest.raises(InputError, match="instead of on Dask collections"):
        small.far_from_training(rows[0])
    np.testing.assert_array_equal(small.enhance(*rows), ordinary.enhance(*rows))


def test_set_output_is_for_rows_in_memory(rows, local, client):
    pd = pytest.importorskip("pandas")
    X, Y = (in_blocks(A, UNEVEN[3]) for A in rows)
    model = ld.DaskDLDL(**GIVEN, client=client).set_output(transform="pandas").fit(X, Y)
    for answer in (model.predict(X), model.enhance(X, Y)):
        found = client.compute(answer, sync=True)
        assert type(found) is np.ndarray
        assert found.dtype == answer.dtype
    assert model.score(X, Y) == pytest.approx(local.score(*rows), rel=1e-6)
    assert isinstance(model.to_local(training_rows=False).enhance(*rows), pd.DataFrame)


def test_frames_in_frames_out(rows, local, client_of_processes):
    pd = pytest.importorskip("pandas")
    names, labels = [f"x{j}" for j in range(6)], ["sky", "sea", "sun", "fog"]
    frame = pd.DataFrame(rows[0], columns=names, index=np.arange(1000, 1700))
    table = pd.DataFrame(rows[1].astype(int), columns=labels, index=frame.index)
    X, Y = dd.from_pandas(frame, npartitions=3), dd.from_pandas(table, npartitions=3)
    model = ld.DaskDLDL(**GIVEN, client=client_of_processes).fit(X, Y)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-6)
    assert list(model.feature_names_in_) == names
    assert list(model.label_names_) == labels
    predicted = client_of_processes.compute(model.predict(X), sync=True)
    assert list(predicted.columns) == labels
    assert (predicted.index == frame.index).all()
    np.testing.assert_allclose(predicted, local.predict(rows[0]), atol=1e-6)
    assert (predicted.dtypes == model.predict(X).dtypes).all()
    for other in (X[names[:2]], X[names[::-1]], X.rename(columns={"x0": "z"})):
        with pytest.raises(InputError, match="The feature names should match"):
            model.predict(other)
    with pytest.raises(InputError, match="X has 3 features, but DLDL is expecting 6"):
        model.predict(da.ones((10, 3)))
    enhanced = client_of_processes.compute(
        model.enhance(X, Y[labels[::-1]]), sync=True
    )  # columns are matched by name
    np.testing.assert_allclose(enhanced[labels], local.enhance(*rows), atol=1e-6)


@pytest.mark.parametrize("shape", ["other rows", "columns", "unknown lengths", "empty blocks"])
def test_blocks_of_any_shape(rows, local, client, shape):
    X, Y = (in_blocks(A, UNEVEN[3]) for A in rows)
    if shape == "other rows":
        Y = Y.rechunk({0: 90})
    if shape == "columns":
        X, Y = X.rechunk({1: 2}), Y.rechunk({1: 1})
    if shape == "unknown lengths":
        kept = da.from_array(np.arange(700) >= 0, chunks=(UNEVEN[3],))
        X, Y = X[kept], Y[kept]
    if shape == "empty blocks":
        X, Y = (in_blocks(A, (0, 300, 0, 400)) for A in rows)
    model = ld.DaskDLDL(**GIVEN, client=client).fit(X, Y)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-6)
    predicted = client.compute(model.predict(X), sync=True)
    np.testing.assert_allclose(predicted, local.predict(rows[0]), atol=1e-6)


def with_bad(A, row, value):
    A = np.array(A, dtype=float)
    A[row, 1] = value
    return A


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X, Y[:600]), "X has 700 rows and y has 600"),
        (lambda X, Y: (np.asarray(X), Y), "must be a Dask array or data frame, got ndarray"),
        (lambda X, Y: (X, Y[:, 0]), "y must have two axes"),
        (lambda X, Y: (X[X[:, 0] > -99], Y.rechunk({0: 100})), "of unknown lengths"),
        (
            lambda X, Y: (X[X[:, 0] > 0].rechunk({1: 3}), Y.rechunk({0: (300, 1, 399)})),
            r"Block 0 .*X has \d+ rows here",
        ),
        (
            lambda X, Y: (in_blocks(with_bad(X, 650, np.nan), UNEVEN[3]), Y),
            "Block 2 .from row 301 on.: Input X contains NaN",
        ),
        (
            lambda X, Y: (X, in_blocks(with_bad(Y, 20, 2.0), UNEVEN[3])),
            "Block 0 .*must hold only 0 and 1, got 2 at row 20",
        ),
        (lambda X, Y: (X, da.zeros_like(Y)), "Every row needs a positive label"),
        (lambda X, Y: (X[:0], Y[:0]), "X has no rows"),
    ],
)
def test_unsupported_collections_raise(rows, client, change, message):
    X, Y = change(*(in_blocks(A, UNEVEN[3]) for A in rows))
    model = ld.DaskDLDL(**GIVEN, client=client)
    with pytest.raises(InputError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


def test_text_columns_raise(client):
    pd = pytest.importorskip("pandas")
    frame = dd.from_pandas(pd.DataFrame({"size": [1.0, 2.0], "city": ["a", "b"]}), npartitions=1)
    with pytest.raises(InputError, match="Column 'city' of X is not numeric"):
        ld.DaskDLDL(**GIVEN, client=client).fit(frame, frame)


def test_missing_client_raises(rows):
    X, Y = (in_blocks(A, UNEVEN[1]) for A in rows)
    with pytest.raises(InputError, match="There is no Dask client; make one"):
        ld.DaskDLDL(**GIVEN).fit(X, Y)


def test_current_client_is_the_default(rows, local, cluster):
    X, Y = (in_blocks(A, UNEVEN[1]) for A in rows)
    with distributed.Client(cluster):
        model = clone(ld.DaskDLDL(**GIVEN)).fit(
            X, Y
        )  # one block: the other worker has nothing to do
        np.testing.assert_allclose(model.predict(X).compute(), local.predict(rows[0]), atol=1e-6)


def test_clone_and_pickle_with_a_client(client):
    model = ld.DaskDLDL(beta=1.0, client=client)
    copy = clone(model)
    assert copy.client is client
    assert copy.get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).client is None
    assert ld.DaskDLDL._get_param_names() == sorted([*DLDL._get_param_names(), "client"])
    with pytest.raises(ParameterError, match="betta"):
        model.set_params(betta=1.0)


def test_options_that_need_all_rows_raise(rows, client):
    X, Y = (in_blocks(A, UNEVEN[3]) for A in rows)
    with pytest.raises(ParameterError, match="feature_map must be None, 'rbf' or Nystroem"):
        ld.DaskDLDL(**GIVEN, feature_map=StandardScaler(), client=client).fit(X, Y)
    with pytest.raises(InputError, match="On Dask collections degrees cannot be given"):
        ld.DaskDLDL(**GIVEN, client=client).fit(X, Y, degrees=np.full((700, 4), np.nan))
    with pytest.raises(ParameterError, match="On Dask collections alpha must be 0"):
        ld.DaskDLDL(alpha=0.1, **GIVEN, client=client).fit(X, Y)


def test_both_fits_run_the_same_alternation(rows, client, monkeypatch):
    calls = []

    def spy(steps, **options):
        calls.append((type(steps).__name__, options["max_iter"]))
        return alternate(steps, **options)

    monkeypatch.setattr("ldlearn.joint.dldl.alternate", spy)
    DLDL(**GIVEN).fit(*rows)
    ld.DaskDLDL(**GIVEN, client=client).fit(*(in_blocks(A, UNEVEN[3]) for A in rows))
    assert calls == [("LocalSteps", 1), ("_BlockSteps", 1)]


def test_methods_for_rows_in_memory_raise(rows, fitted):
    with pytest.raises(InputError, match="otherwise use to_local"):
        fitted.predict_interval(in_blocks(rows[0], UNEVEN[3]))


def test_experiments_use_the_same_cluster(tmp_path, rows, client_of_processes, cluster):
    X, Y = (in_blocks(A, UNEVEN[3]) for A in rows)
    model = ld.DaskDLDL(**GIVEN, client=client_of_processes)
    before = model.fit(X, Y).coef_
    run = run_plan(
        tiny_plan(protocol={"repeats": 1}), tmp_path, scheduler=cluster.scheduler_address
    )
    assert run.count("ok") == len(run.records) == 5
    np.testing.assert_allclose(model.fit(X, Y).coef_, before, atol=1e-12)


def test_blocks_are_summed_in_a_tree(client, monkeypatch):
    monkeypatch.setattr("ldlearn.dask.cluster._TREE_WIDTH", 2)
    runner = BlockRunner(client)
    numbers = [dask.delayed(k) for k in range(7)]
    total, squares = runner.map_sum(
        lambda k, scale: (scale * k, np.full(2, k * k)), numbers, common=10
    )
    assert total == 210
    np.testing.assert_array_equal(squares, [91, 91])
    assert runner.n_rounds == 1


def test_broadcast_is_one_task_for_all_blocks(client, monkeypatch):
    graphs = []
    monkeypatch.setattr(
        client, "persist", lambda parts: [graphs.extend(part.__dask_graph__()) for part in parts]
    )
    numbers = [dask.delayed(k) for k in range(7)]
    BlockRunner(client).map_persist(lambda k, message: k, numbers, common=np.zeros(10_000))
    assert len(set(graphs)) == 15  # seven numbers, their results, and the broadcast


@pytest.mark.parametrize(
    ("cls", "local_class", "params"),
    [(ld.DaskDLDL, DLDL, GIVEN), (ld.DaskVoteLDL, VoteLDL, {"gamma": 0.3})],
    ids=["DLDL", "VoteLDL"],
)
def test_zeros_less_in_blocks_equals_local_fit(cls, local_class, params, rows, client):
    X, Y = rows
    unknown = np.where(np.arange(Y.size).reshape(Y.shape) % 37 == 0, np.nan, Y)
    blocks = in_blocks(X, UNEVEN[3]), in_blocks(unknown, UNEVEN[3])
    model, none = (
        cls(**params, zeros=zeros, client=client).fit(*blocks) for zeros in ("less", "none")
    )
    np.testing.assert_array_equal(model.coef_, none.coef_)
    expected = local_class(**params, zeros="less").fit(X, unknown)
    assert model.kappa_ == pytest.approx(expected.kappa_)
    fetched = model.to_local()
    np.testing.assert_allclose(
        fetched.label_distributions_, expected.label_distributions_, atol=1e-5
    )
    np.testing.assert_allclose(fetched.predict(X), expected.predict(X), atol=1e-5)
    assert (expected.label_distributions_ > 0).all()
