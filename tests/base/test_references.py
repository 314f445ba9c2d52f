"""BibTeX entries of all methods with a paper."""

import inspect
import re
import shutil
import subprocess

import pytest

from ldlearn import all_estimators
from ldlearn.base.references import Reference, references
from ldlearn.cli.library import cite
from ldlearn.exceptions import ParameterError

WITH_PAPER = [
    (name, cls)
    for name, cls in all_estimators()
    if "\nReferences\n---" in inspect.cleandoc(cls.__doc__)
]


@pytest.mark.parametrize(("name", "cls"), WITH_PAPER)
def test_references_of_every_class_are_parsed(name, cls):
    section = inspect.cleandoc(cls.__doc__).split("\nReferences\n----------\n")[1].split("\n\n")[0]
    found = references(cls)
    titles = [" ".join(title.split()) for title in re.findall(r'"([^"]+)"', section)]
    assert [reference.title for reference in found] == titles
    assert titles
    text = " ".join(section.split())
    for reference in found:
        assert re.fullmatch(r"(19|20)\d\d", reference.year)
        assert reference.venue.strip(" ,")
        assert not re.search(r"\d{4}|\(|;", reference.venue)
        for author in reference.authors:
            assert re.fullmatch(r"(\w\.(-\w\.)? )+[\w' -]+", author), author
            assert author in text
        entry = reference.to_bibtex()
        fields = dict(re.findall(r"^  (\w+) = \{(.+)\},$", entry, re.MULTILINE))
        assert {"author", "title", "year"} <= set(fields)
        assert fields.get("journal") or fields.get("booktitle")
        assert entry.count("{") == entry.count("}")
        assert len(re.findall(" and ", fields["author"])) == len(reference.authors) - 1


def test_fields_of_parsed_references():
    class Method:
        """A method.

        References
        ----------
        N. El Gayar, Y.-P. Liu, J. C. Lv, "A Study of
        Labels", Some Journal 28(7), 2016, pp. 10-20.
        B. Žorž, "Other: Labels?", NeurIPS 2017.
        C. Author, "Third Title", Journal of Machine Learning Research 18, 2017.

        Examples
        --------
        >>> "not a reference", Nowhere 1999.
        """

    first, second, third = references(Method)
    authors = ("N. El Gayar", "Y.-P. Liu", "J. C. Lv")
    assert first == Reference(
        authors, "A Study of Labels", "Some Journal", "2016", "28", "7", "10-20"
    )
    assert first.to_bibtex() == (
        "@article{elgayar2016study,\n"
        "  author = {El Gayar, N. and Liu, Y.-P. and Lv, J. C.},\n"
        "  title = {{A Study of Labels}},\n"
        "  journal = {Some Journal},\n"
        "  volume = {28},\n"
        "  number = {7},\n"
        "  pages = {10--20},\n"
        "  year = {2016},\n"
        "}"
    )
    assert (second.key, second.venue) == ("zorz2017other", "NeurIPS")
    assert second.to_bibtex().startswith("@inproceedings")
    assert (third.venue, third.volume, third.number) == (
        "Journal of Machine Learning Research",
        "18",
        "",
    )


def test_keys_are_unique():
    by_key = {}
    for _, cls in WITH_PAPER:
        for reference in references(cls):
            assert by_key.setdefault(reference.key, reference) == reference


def test_references_command(capsys):
    cite(["glle", "LP", "GLLE", "VoteLDL"])
    out, err = capsys.readouterr()
    assert len(re.findall("^@", out, re.MULTILINE)) == 3
    assert "VoteLDL is not from a paper" in " ".join(err.split())
    with pytest.raises(ParameterError, match="did you mean GLLE"):
        cite(["GLE"])


@pytest.mark.skipif(shutil.which("bibtex") is None, reason="bibtex is not installed")
def test_bibtex_accepts_all_entries(tmp_path):
    entries = {
        reference.key: reference.to_bibtex()
        for _, cls in WITH_PAPER
        for reference in references(cls)
    }
    (tmp_path / "all.bib").write_text("\n\n".join(entries.values()), encoding="utf-8")
    (tmp_path / "all.aux").write_text(
        "\\citation{*}\n\\bibstyle{plain}\n\\bibdata{all}\n", encoding="utf-8"
    )
    done = subprocess.run(
        ["bibtex", "all"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "Warning" not in done.stdout, done.stdout
    assert (tmp_path / "all.bbl").read_text(encoding="utf-8").count("\\bibitem") == len(entries)
