"""The papers of a method, read from the References section of its class, and as BibTeX."""

import inspect
import re
import unicodedata
from dataclasses import dataclass

from ldlearn.base.estimator import LabelEstimator

_SECTION = re.compile(
    r"^References\n-+\n(.*?)(?=\n\n[A-Z][a-z]+\n-+\n|\Z)", re.DOTALL | re.MULTILINE
)
# A. Author, B. Author, "Title", Venue 28(7), 2016, pp. 1-10.
_REFERENCE = re.compile(
    r'(?P<authors>[^"]+), "(?P<title>[^"]+)", (?P<venue>[^"]+?)'
    r"(?: (?P<volume>\d+)(?:\((?P<number>[\d-]+)\))?)?"
    r",? (?P<year>(?:19|20)\d\d)(?:, pp?\. (?P<pages>[\d-]+))?\.\s*"
)
_COMMON_WORDS = {"label", "distribution", "learning", "with", "from"}


@dataclass(frozen=True)
class Reference:
    """A publication; parts that are not given are empty."""

    authors: tuple[str, ...]
    title: str
    venue: str
    year: str
    volume: str = ""
    number: str = ""
    pages: str = ""

    @property
    def key(self) -> str:
        """Short name of a reference.

        The first author, the year, and the first long word of the title that distinguishes it.
        """
        family, _ = _split_name(self.authors[0])
        words = [word for word in self.title.lower().split() if len(word) > 3]
        word = min(words, key=_COMMON_WORDS.__contains__)  # the first that is not common
        text = unicodedata.normalize("NFKD", f"{family}{self.year}{word}")
        return re.sub(r"[^a-z0-9]", "", text.lower())

    def to_bibtex(self) -> str:
        """An entry of a BibTeX file: an article if it has a volume, else a paper of proceedings."""
        kind = "inproceedings"
        venue = "booktitle"
        if self.volume:
            kind = "article"
            venue = "journal"
        fields = {
            "author": " and ".join(", ".join(_split_name(author)) for author in self.authors),
            "title": f"{{{self.title}}}",
            venue: self.venue,
            "volume": self.volume,
            "number": self.number,
            "pages": self.pages.replace("-", "--"),
            "year": self.year,
        }
        lines = [f"@{kind}{{{self.key},"]
        for name, value in fields.items():
            if value:
                lines.append(f"  {name} = {{{value}}},")
        return "\n".join([*lines, "}"])


def references(cls: type[LabelEstimator]) -> list[Reference]:
    """The papers of a method.

    Parameters
    ----------
    cls : estimator class
        The References section of its docstring has entries
        ``A. Author, B. Author, "Title", Venue 28(7), 2016.``

    Examples
    --------
    >>> from ldlearn import DLDL
    >>> print(references(DLDL)[0].to_bibtex())
    @inproceedings{jia2024logical,
      author = {Jia, Y. and Tang, J. and Jiang, J.},
      title = {{Label Distribution Learning from Logical Label}},
      booktitle = {IJCAI},
      year = {2024},
    }
    """
    section = _SECTION.search(inspect.cleandoc(cls.__doc__ or ""))
    if section is None:
        return []
    found = []
    for match in _REFERENCE.finditer(" ".join(section[1].split())):
        parts = match.groupdict(default="")
        authors = parts.pop("authors").split(", ")
        found.append(Reference(tuple(authors), **parts))
    return found


def _split_name(author: str) -> tuple[str, str]:
    """Family name and initials."""
    words = author.split()
    initials = [word for word in words if word.endswith(".")]
    return " ".join(words[len(initials) :]), " ".join(initials)
