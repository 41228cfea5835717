"""`import_opml` and `export_opml`."""

from pathlib import Path

import pytest

from feeds.adding.add import add_feed
from feeds.models import Feed
from feeds.parsing.opml import parse_opml
from tests.console import json_of, printed, refused
from tests.factories import NOW, FeedFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "feeds.opml"
    path.write_text(
        '<opml version="2.0"><body><outline text="News">\n'
        '<outline text="A" xmlUrl="https://a.test/"/><outline text="A again" xmlUrl="https://a.test/"/>\n'
        '<outline text="B" xmlUrl="https://b.test/"/></outline>\n'
        '<outline text="C" xmlUrl="gopher://c.test/"/></body></opml>'
    )
    return str(path)


def test_the_report_says_what_was_done(file: str) -> None:
    add_feed(url="https://b.test/", now=NOW)
    reason = "Give an address that begins with http:// or https://."
    expected = {
        "added": 1,
        "known": 1,
        "tagged": 1,
        "repeated": 1,
        "refused": [{"line": 4, "title": "C", "reason": reason}],
        "changed": [],
    }
    assert json_of("import_opml", file, "--dry-run") == {**expected, "dry_run": True}
    assert Feed.objects.count() == 1
    assert json_of("import_opml", file, "--tag", "mine") == {**expected, "dry_run": False}
    assert [tag.name for tag in Feed.objects.get(url="https://a.test/").tags.all()] == ["News", "mine"]
    assert json_of("import_opml", file) == {**expected, "added": 0, "known": 2, "tagged": 0, "dry_run": False}


def test_people_read_sentences(file: str) -> None:
    said = printed("import_opml", file, "--dry-run")
    assert said.startswith("2 feeds would be added, 0 there already, 1 twice in the file, 1 refused.\n")
    assert "Line 4: C: Give an address" in said
    assert printed("import_opml", file).startswith("2 feeds added, ")


def test_half_a_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "half.opml"
    path.write_text('<opml><body><outline xmlUrl="https://a.test/"/>')
    assert "The file is not well-formed XML" in printed("import_opml", str(path))
    assert Feed.objects.count() == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/nowhere.opml"], "/nowhere.opml cannot be read: No such file"),
        (["FILE", "--tag", "a,b"], "--tag: A tag is"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(file: str, words: list[str], said: str) -> None:
    assert said in refused("import_opml", *(file if word == "FILE" else word for word in words))
    assert not Feed.objects.exists()


def test_a_file_that_is_no_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<html></html>")
    assert "not an OPML file" in refused("import_opml", str(path))


def test_export_prints_or_writes_what_import_reads(tmp_path: Path) -> None:
    add_feed(url="https://ada:geheim@a.test/", now=NOW, tags=["News", "Zoë"], title="A & B")
    FeedFactory(url="https://b.test/")
    text = printed("export_opml")
    assert "geheim" not in text
    path = tmp_path / "out.opml"
    assert printed("export_opml", "--output", str(path)) == ""
    assert [one.url for one in parse_opml(path.read_bytes()).outlines] == [
        "https://a.test/",
        "https://b.test/",
    ]
    tagged = parse_opml(printed("export_opml", "--tag", "zoë").encode())
    assert [(one.title, one.tags) for one in tagged.outlines] == [("A & B", ("News", "Zoë"))]
    assert [row["url"] for row in json_of("export_opml")] == ["https://a.test/", "https://b.test/"]


def test_a_file_that_cannot_be_written_is_refused() -> None:
    assert "/nowhere/out.opml cannot be written: No such file" in refused(
        "export_opml", "--output", "/nowhere/out.opml"
    )
