"""Tables in many files through a cluster, from the command line and from Python."""

import numpy as np
import pytest

from ldlearn.cli.main import main
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import FileError, LDLearnError, ParameterError
from ldlearn.joint import VoteLDL
from ldlearn.tables import ColumnOptions, load_table_model, predict_table
from ldlearn.tables.dask_tables import fit_parts, predict_parts

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three files with features, a text and labels, and one file with all rows."""
    monkeypatch.chdir(tmp_path)
    data = make_label_distributions(600, 4, 3, labels="votes", random_state=0)
    table = pd.DataFrame(data.X, columns=list("stuv"))
    table["place"] = np.where(data.X[:, 0] > 0, "coast", "inland")
    table[["sky", "sea", "sun"]] = data.Y.astype(int)
    table["key"] = [f"row {k}" for k in range(600)]
    for k, rows in enumerate((slice(0, 100), slice(100, 350), slice(350, 600))):
        table[rows].to_parquet(tmp_path / f"part-{k}.parquet")
    table.to_parquet(tmp_path / "all.parquet")
    return tmp_path


def run(*arguments):
    with pytest.raises(SystemExit) as exit_info:
        main(list(arguments))
    return exit_info.value.code


def test_fit_and_predict_many_files_on_the_command_line(folder, cluster):
    address = cluster.scheduler_address
    options = (
        "-l",
        "sky,sea,sun",
        "--id",
        "key",
        "--set",
        "beta=0.3",
        "--set",
        "gamma=0.3",
        "--set",
        "max_iter=1",
    )
    assert run("fit", "part-*.parquet", *options, "-o", "m.ldl", "--scheduler", address) == 0
    assert run("fit", "all.parquet", *options, "-o", "one.ldl", "--holdout", "0") == 0
    model, one = load_table_model("m.ldl"), load_table_model("one.ldl")
    assert (model.features, model.labels, model.id) == (one.features, one.labels, one.id)
    np.testing.assert_allclose(model.estimator.coef_, one.estimator.coef_, atol=1e-6)
    for fact in (
        "rows",
        "label_means",
        "positives_per_row",
        "mean_distribution",
        "transformed_features",
    ):
        assert model.facts[fact] == pytest.approx(one.facts[fact])
    assert run("predict", "part-*.parquet", "-m", "m.ldl", "-o", "out", "--scheduler", address) == 0
    predict_table("all.parquet", "one.ldl", "all_degrees.parquet")
    written = pd.concat(
        [pd.read_parquet(f"out/part-{k}.parquet") for k in range(3)], ignore_index=True
    )
    together = pd.read_parquet("all_degrees.parquet")
    assert list(written.columns) == ["key", "sky", "sea", "sun"]
    assert written["key"].tolist() == together["key"].tolist()
    np.testing.assert_allclose(
        written[["sky", "sea", "sun"]], together[["sky", "sea", "sun"]], atol=1e-6
    )


def test_label_lists_are_rejected_before_connecting(folder):
    pd.DataFrame({"x": range(4), "tags": ["sky|sea", "sea", "sky", "sky|sea"]}).to_csv(
        "lists-0.csv", index=False
    )
    with pytest.raises(LDLearnError, match="column 'tags': on a cluster"):
        fit_parts("lists-*.csv", "tags", scheduler="tcp://nowhere:1")


def test_invalid_options_with_many_files_raise(folder, cluster):
    address = cluster.scheduler_address
    with pytest.raises(FileError, match="No file is called 'none-"):
        fit_parts("none-*.csv", "sky", scheduler=address)
    with pytest.raises(ParameterError, match="On a cluster DLDL and VoteLDL are fitted, not L2"):
        fit_parts("part-*.parquet", "sky,sea,sun", scheduler=address, method="L2")
    with pytest.raises(
        FileError, match="into a folder; 'all.parquet' is not one".replace(".", r"\.")
    ):
        predict_parts("part-*.parquet", "m.ldl", "all.parquet", scheduler=address)
    for name in "ab":
        (folder / name).mkdir()
        (folder / name / "part.csv").write_text("s\n1\n")
    with pytest.raises(FileError, match=r"Two files would be written to 'part\.csv'"):
        predict_parts("?/part.csv", "m.ldl", "out", scheduler=address)


def test_invalid_file_is_named(folder, cluster):
    address = cluster.scheduler_address
    params = {"beta": 0.3, "gamma": 0.3, "max_iter": 1}
    pd.read_parquet("part-2.parquet").to_parquet("part-3.parquet")
    # Of four files only the second is read only by a worker.
    second = pd.read_parquet("part-1.parquet")
    for change, message in (
        ({"sky": 2}, r"part-1\.parquet.*0 and 1, got 2|part-1\.parquet.*sky"),
        ({"sea": None}, r"part-1\.parquet.*every label is 0 or 1"),
    ):
        second.assign(**change).to_parquet("part-1.parquet")
        with pytest.raises(LDLearnError, match=message):
            fit_parts(
                "part-*.parquet",
                "sky,sea,sun",
                scheduler=address,
                params=params,
                columns=ColumnOptions(id="key"),
            )
    second.to_parquet("part-1.parquet")
    third = pd.read_parquet("part-2.parquet")  # one of the files read before the fit
    third.assign(sky=2).to_parquet("part-2.parquet")
    with pytest.raises(LDLearnError, match=r"part-2\.parquet, row 1, column 'sky': 2 is neither"):
        fit_parts(
            "part-*.parquet",
            "sky,sea,sun",
            scheduler=address,
            params=params,
            columns=ColumnOptions(id="key"),
        )
    third.to_parquet("part-2.parquet")
    (folder / "part-1.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(LDLearnError, match=r"part-1\.parquet"):
        fit_parts(
            "part-*.parquet",
            "sky,sea,sun",
            scheduler=address,
            params=params,
            columns=ColumnOptions(id="key"),
        )
    second.to_parquet("part-1.parquet")
    params = {"gamma": 1.0, "max_iter": 1}
    model = fit_parts(
        "part-*.parquet",
        "sky,sea,sun",
        scheduler=address,
        params=params,
        method="VoteLDL",
        columns=ColumnOptions(id="key"),
    )
    assert type(model.estimator) is VoteLDL
    second.drop(columns="s").to_parquet("part-1.parquet")
    with pytest.raises(LDLearnError, match=r"part-1\.parquet.*'s'"):
        predict_parts("part-*.parquet", model, "out", scheduler=address)


def test_missing_scheduler_raises(folder, monkeypatch):
    monkeypatch.setattr("ldlearn.dask.cluster._CONNECT_SECONDS", 0.2)
    with pytest.raises(FileError, match="No Dask scheduler answers at tcp:"):
        fit_parts(
            "part-*.parquet",
            "sky,sea,sun",
            scheduler="tcp://127.0.0.1:9",
            columns=ColumnOptions(features="s,t"),
        )
