"""Exports of other programs: which issues they have, and hostile files."""

import csv
import io
import json
import re
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from common.html.clean import clean
from common.refused import Refused
from migrate_from.old_issues import found
from migrate_from.old_issues.dumps import NEEDS_ADDRESS, lexical_html
from migrate_from.old_issues.found import Archive, Wanted, opened_zip, title_of, without_parts
from migrate_from.old_issues.hosted import buttondown_html
from migrate_from.old_issues.wordpress import opened_export, shown_html
from tests.delivery.old_issues.exports import TAKEN, export

NOW = datetime(2026, 11, 1, tzinfo=UTC)
WANTED = Wanted(ZoneInfo("Europe/Berlin"), NOW, "https://old.example")
POSTS = (
    b"post_id,post_date,is_published,email_sent_at,type,audience,title\n"
    b"1.x,2021-03-05T09:00:00Z,true,2021-03-05T09:00:00Z,newsletter,everyone,X\n"
)


def read(path: Path, data: bytes, wanted: Wanted = WANTED) -> tuple[dict[str, str], dict[str, str]]:
    """Return cleaned texts and refusals by title."""
    path.write_bytes(data)
    with opened_export(path, wanted) as found:
        texts = {issue.title: clean(issue.read(), base=wanted.address) for issue in found.issues}
        return texts, {each.title: each.words for each in found.refused}


@pytest.mark.parametrize("name", TAKEN)
def test_each_program_brings_its_issues_oldest_first_and_without_active_content(
    name: str, tmp_path: Path
) -> None:
    texts, refused = read(tmp_path / "x", export(name))
    assert list(texts) == TAKEN[name]
    assert refused
    for text in texts.values():
        for word in ("<script", "alert(1)", "{{", "*|", "TrackLink", "__GHOST_URL__", "<form", "Subscribe"):
            assert word not in text


def test_drafts_pages_and_what_was_for_paying_subscribers_are_not_taken(tmp_path: Path) -> None:
    _, refused = read(tmp_path / "x", export("substack"))
    assert refused == {
        "Secret coves": "It was for paying subscribers.",
        "A draft": "It wasn’t sent.",
        "About": "It’s a page, not an issue.",
        "No text": "It has no text.",
    }
    with_paid = Wanted(WANTED.zone, NOW, with_paid=True)
    for name, title in (
        ("substack", "Secret coves"),
        ("ghost.json", "For members who pay"),
        ("buttondown", "For friends"),
        ("wordpress", "For paying members"),
        ("wordpress", "With a paywall"),
        ("beehiiv.csv", "For paying subscribers"),
        ("beehiiv.csv", "For everyone"),
    ):
        assert title in read(tmp_path / "x", export(name), with_paid)[0]


def test_issues_of_the_future_are_not_taken(tmp_path: Path) -> None:
    early = Wanted(WANTED.zone, datetime(2021, 3, 20, tzinfo=UTC))
    texts, refused = read(tmp_path / "x", export("substack"), early)
    assert list(texts) == ["The ferry is late"]
    assert refused["Low tide"] == "Its date is in the future."


def test_mailchimp_campaigns_of_one_title_are_told_apart_by_their_order(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(export("mailchimp"))
    with opened_export(tmp_path / "x", WANTED) as found:
        june, july = found.issues[1:]
        assert "June" in june.read()
        assert "July" in july.read()
        assert "check" in june.note
        # The account's times have no zone.
        assert found.issues[0].at == datetime(2019, 5, 19, 16, tzinfo=UTC)
        assert "Copyright" not in found.issues[0].read()
        assert {each.title: each.words for each in found.refused}["104_never-sent.html"]


def test_ghosts_document_becomes_html(tmp_path: Path) -> None:
    texts, _ = read(tmp_path / "x", export("ghost.json"))
    assert 'src="https://old.example/content/images/fog.png"' in texts["Fog on the pier"]
    by_email = texts["Ropes"]
    for part in ("<h2>Ropes</h2>", "<strong>Strong &amp; dry</strong>", "<li><em>hemp</em></li>", "By hand."):
        assert part in by_email
    (tmp_path / "y").write_bytes(export("ghost.json"))
    with opened_export(tmp_path / "y", Wanted(WANTED.zone, NOW)) as found:
        assert [issue.note for issue in found.issues] == [NEEDS_ADDRESS, ""]
    assert lexical_html("[]") == lexical_html("{") == lexical_html('{"root": 1}') == ""


def test_tracked_links_of_listmonk_lead_to_their_pages(tmp_path: Path) -> None:
    texts, _ = read(tmp_path / "x", export("listmonk.json"))
    assert 'href="https://tide.example/"' in texts["April for"]
    assert 'href="https://moon.example/"' in texts["April for"]
    texts, _ = read(tmp_path / "x", export("listmonk.sql"))
    assert texts["April"] == "<p>One\\two.</p>\n<p>Line.</p>"
    assert texts["Plain"] == "<p>A &lt; B<br>and on.</p><p>End.</p>"


def test_each_post_of_wordpress_is_taken_once_or_named_with_the_reason(tmp_path: Path) -> None:
    texts, refused = read(tmp_path / "x", export("wordpress"))
    assert refused == {
        "A draft": "It wasn’t sent.",
        "Next year": "It wasn’t sent.",
        "About": "It’s a page, not an issue.",
        "With a password": "It has a password.",
        "For members": "It was private: for members or by email only.",
        "For paying members": "It was for paying subscribers.",
        "With a paywall": "It was for paying subscribers.",
    }
    fog = texts["Fog on the pier"]
    assert fog.startswith("<p>The fog came <em>early</em> [sic].<br>\nIt stayed until ten.</p>\n<figure><a ")
    for part in (
        "<figcaption>Fog, seen from the pier</figcaption></figure>",
        "<li>One\n\ntwo</li>",
        '<p><a href="https://video.example/watch?v=1" rel="noopener">https://video.example/watch?v=1</a></p>',
        "<p>If a[0]]&gt; b, read ",
    ):
        assert part in fog
    for part in ("gallery", "column", "contact", "<!--"):
        assert part not in fog
    ropes = texts["Ropes and knots"]
    assert '<a href="https://video.example/watch?v=2"' in ropes
    assert "jetpack" not in ropes


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a\nb\n \nc", "<p>a<br>\nb</p>\n<p>c</p>\n"),
        ("a<br />\nb", "<p>a<br>\nb</p>\n"),
        ("<div>a\n\nb</div>", "<div><p>a</p>\n<p>b</p>\n</div>"),
        ("a\n<pre>b\n\nc</pre>\nd", "<p>a</p>\n<pre>b\n\nc</pre><p>d</p>\n"),
        ("<ul><li>a<ul><li>b</li></ul></li></ul>c", "<ul><li>a<ul><li>b</li></ul></li></ul><p>c</p>\n"),
        ("<p>a<p>b</p>\nc", "<p>a<p>b</p><p>c</p>\n"),
        ('<!-- wp:x {"a":1} -->\na\n<!--nextpage-->', "<p>a</p>\n"),
        (
            '[caption width="1" caption="Old"]<img src="a">[/caption]',
            '<figure><img src="a"><figcaption>Old</figcaption></figure>',
        ),
        ("[note]a[/note] [1] [[b x=1]]", "<p>a [1] [[b x=1]]</p>\n"),
        ("[youtube https://v.example/?a=1&amp;b=2]", None),
    ],
)
def test_stored_posts_become_what_wordpress_shows(text: str, html: str | None) -> None:
    link = "https://v.example/?a=1&amp;b=2"
    assert shown_html(text) == (html or f'<p><a href="{link}">{link}</a></p>\n')


HEAD = '<rss xmlns:wp="http://wordpress.org/export/1.0/"><channel><link>https://pier.example</link>'


def wordpress_of(text: str = "Words.", *, head: str = HEAD, kind: str = "post", **values: str) -> bytes:
    fields = {"post_date_gmt": "2023-01-02 03:04:05", "status": "publish", "post_type": kind, **values}
    rest = "".join(f"<wp:{name}>{value}</wp:{name}>" for name, value in fields.items())
    item = f"<item><title>T</title><content:encoded><![CDATA[{text}]]></content:encoded>{rest}</item>"
    return f"{head}{item}</channel></rss>".encode()


def test_a_file_of_wordpress_may_have_a_mark_blank_lines_and_control_characters(tmp_path: Path) -> None:
    dates = {"post_date_gmt": "0000-00-00 00:00:00", "post_date": "2023-07-02 03:04:05"}
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbf\r\n" + wordpress_of("a\x00\x0b\x1bb", **dates))
    with opened_export(tmp_path / "x", WANTED) as found:
        (issue,) = found.issues
        assert (issue.at, issue.read()) == (datetime(2023, 7, 2, 1, 4, 5, tzinfo=UTC), "<p>ab</p>\n")
        assert found.address == "https://pier.example"
    assert read(tmp_path / "x", wordpress_of("x" * 6_000_000))[1] == {"T": "Its text has more than 5 MB."}
    assert read(tmp_path / "x", wordpress_of(status="odd"))[1] == {"T": "It wasn’t sent."}


ENTITIES = (
    '<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>'
)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (wordpress_of("x", head=ENTITIES + HEAD), "DOCTYPE"),
        (wordpress_of(post_name="&b;"), "undefined entity"),
        (wordpress_of()[:-20], "cut off"),
        (wordpress_of(head=HEAD + "<a>" * 30), "more or larger elements"),
        (wordpress_of(head=HEAD + f"<!--{'a' * 5_000_000}-->"), "more or larger elements"),
        (wordpress_of(head=HEAD + f'<a b="{"a" * 5_000_000}"/>'), "more or larger elements"),
        (b"<?xml version='1.0'?><rss><channel/></rss>", "isn’t an export"),
    ],
    ids=range(7),
)
def test_hostile_and_damaged_xml_is_refused(data: bytes, words: str, tmp_path: Path) -> None:
    began = time.process_time()
    for file in (data, a_zip({"a.xml": wordpress_of(), "b.xml": data}) if b"wordpress" in data else data):
        with pytest.raises(Refused, match=words):
            read(tmp_path / "x", file)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("text", ["[", "[a ", "[caption]<img>", "<p>", "<!--", "[/a]", "a   \n", "<a "])
def test_odd_posts_of_wordpress_are_read_in_a_moment(text: str) -> None:
    began = time.process_time()
    for end in (" " * 200_000 + "a", "\n" + " " * 200_000 + "a", "<p>" * 90_000):
        shown_html(text * 90_000 + end)
        shown_html(text + end)
    assert time.process_time() - began < 5


def test_posts_of_beehiiv_are_taken_without_the_email_around_them(tmp_path: Path) -> None:
    data = export("beehiiv.csv")
    texts, refused = read(tmp_path / "x", data)
    assert refused == {
        "A draft": "It wasn’t sent.",
        "An old one": "It’s archived.",
        "For paying subscribers": "It was for paying subscribers.",
        "For everyone": "It may have a part for paying subscribers only.",
        "Scheduled": "It was private: for members or by email only.",
    }
    for part in ("Preview", "Read Online", "Share", "<h1>", "PIXEL"):
        assert part not in texts["Herring again"]
    assert read(tmp_path / "x", a_zip({"posts-2024.csv": data, "subscribers.csv": b"email\n"}))[0] == texts
    large = data.replace(b"<p>Nets.", b"<p>Nets." + b"x" * 200_000)
    assert len(read(tmp_path / "x", large)[0]["Nets"]) > 200_000
    assert csv.field_size_limit() == 131_072
    with pytest.raises(Refused, match="field larger than"):
        read(tmp_path / "x", data + b'"' + b"x\n" * 3_000_000)


def test_parts_with_a_class_or_id_are_removed_with_all_that_is_in_them() -> None:
    html = '<div>a<div class="x box"><div>b</div><br>c</div>d</div><p id=box>e</p>f'
    assert without_parts(html, {"box"}) == "<div>ad</div>f"
    assert without_parts('a<div class="box">b', {"box"}) == "a"
    assert without_parts('<img class="box">a', {"box"}) == '<img class="box">a'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"PK\x03\x04",
        b"PK\x05\x06" + bytes(18),
        b"{}",
        b"[1]",
        b"[" * 100_000,
        b'{"db": [{}]}',
        b"--\n",
    ],
)
def test_other_files_are_refused(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(Refused):
        read(tmp_path / "x", data)


def a_zip(members: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w", kind) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return room.getvalue()


def test_paths_that_leave_the_folder_are_refused(tmp_path: Path) -> None:
    for name in ("../posts/1.x.html", "/etc/passwd", "a\\..\\..\\b"):
        with pytest.raises(Refused, match="outside of its folder"):
            read(tmp_path / "x", a_zip({"posts.csv": POSTS, name: b"x"}))


def test_bombs_cost_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = a_zip({"posts.csv": POSTS, "posts/1.x.html": bytes(200_000_000)})
    began = time.monotonic()
    (why,) = read(tmp_path / "x", zeros)[1].values()
    assert "more than 5 MB" in why
    for kind in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        with pytest.raises(Refused, match="unusual way"):
            read(tmp_path / "x", a_zip({"posts.csv": POSTS, "posts/1.x.html": b"x"}, kind))
    monkeypatch.setattr(found, "MOST_DIRECTORY", 50)
    with pytest.raises(Refused, match="too many files"):
        read(tmp_path / "x", a_zip({f"posts/{number}": b"" for number in range(100)}))
    assert time.monotonic() - began < 5


def test_a_size_that_is_a_lie_is_not_believed(tmp_path: Path) -> None:
    data = bytearray(a_zip({"posts.csv": POSTS, "posts/1.x.html": b"<p>" + b"y" * 1_000_000}))
    # In the directory: the size unpacked of the second member.
    at = data.rfind(b"PK\x01\x02") + 24
    data[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(Refused, match="damaged"):
        read(tmp_path / "x", bytes(data))


def test_too_many_issues_and_too_much_text_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found, "MOST_ISSUES", 1)
    with pytest.raises(Refused, match="more than 1 issues"):
        read(tmp_path / "x", export("substack"))
    monkeypatch.undo()
    monkeypatch.setattr(found, "MOST_TEXT", 10)
    for name in ("substack", "listmonk.sql"):
        with pytest.raises(Refused, match="of text"):
            read(tmp_path / "x", export(name))


def test_tables_and_documents_that_would_fill_the_memory_are_refused(tmp_path: Path) -> None:
    columns = ",".join(f"c{number}" for number in range(300)).encode()
    with pytest.raises(Refused, match="too many columns"):
        read(tmp_path / "x", a_zip({"posts.csv": columns + b"\n1\n"}))
    with pytest.raises(Refused, match="too many values"):
        read(tmp_path / "x", b"[" + b"{}," * 2_000_000 + b"{}]")


def test_a_password_is_told_of(tmp_path: Path) -> None:
    data = bytearray(a_zip({"posts.csv": POSTS}))
    data[6] |= 1
    at = data.find(b"PK\x01\x02")
    data[at + 8] |= 1
    with pytest.raises(Refused, match="encrypted"):
        read(tmp_path / "x", bytes(data))


@pytest.mark.parametrize("text", ["[" * 20_000, "`" * 20_000, "<a " * 30_000, "*a " * 30_000, "> " * 30_000])
def test_odd_markdown_is_read_in_a_moment(text: str) -> None:
    began = time.process_time()
    buttondown_html(text)
    without_parts(text * 20, {"x"})
    with pytest.raises(Refused, match="Markdown"):
        buttondown_html(text * 20)
    assert time.process_time() - began < 5


def test_json_with_other_types_is_read(tmp_path: Path) -> None:
    posts = [1, {}, {"title": 3, "html": 4, "status": "published", "published_at": 5}]
    texts, refused = read(tmp_path / "x", json.dumps({"data": {"posts": posts}}).encode())
    assert not texts
    assert refused


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    (tmp_path / "a.zip").write_bytes(export("substack"))
    with opened_zip(tmp_path / "a.zip") as opened:
        yield opened


def test_the_file_nearest_to_the_root_is_found(archive: Archive) -> None:
    assert archive.find("posts.csv") == "posts.csv"
    assert not archive.find("none.csv")


def ghost_of(**values: object) -> bytes:
    post = {"title": "T", "slug": "t", "uuid": "u", "html": "<p>Words.</p>", "published_at": "2023-01-02"}
    rows = [{**post, "status": "published", **values}]
    return json.dumps({"db": [{"data": {"posts": rows}}]}).encode()


def substack_of(audience: str) -> bytes:
    row = f"1.t,2021-03-05T09:00:00Z,true,2021-03-05T09:00:00Z,newsletter,{audience},T,,\n"
    head = b"post_id,post_date,is_published,email_sent_at,type,audience,title,subtitle,podcast_url\n"
    return a_zip({"posts.csv": head + row.encode(), "posts/1.t.html": b"<p>Words.</p>"})


def buttondown_of(**values: object) -> bytes:
    row = {"id": "1", "subject": "T", "slug": "t", "publish_date": "2023-01-02T03:04:05Z", **values}
    return a_zip({"emails.json": json.dumps([row]).encode(), "emails/t.md": b"Words."})


def listmonk_of(**values: object) -> bytes:
    row = {"subject": "T", "body": "<p>Words.</p>", "content_type": "html", "status": "finished"}
    rows = [
        {**row, "uuid": "1", "started_at": "2024-01-02T00:00:00Z", **values},
        {**row, "uuid": "2", "subject": "Open", "started_at": "2024-01-03T00:00:00Z", "archive": True},
    ]
    return json.dumps({"data": {"results": rows}}).encode()


@pytest.mark.parametrize(
    "data",
    [
        ghost_of(visibility="members"),
        ghost_of(visibility="filter:label:vip"),
        ghost_of(status="sent"),
        substack_of("only_free"),
        substack_of("another"),
        buttondown_of(email_type="private"),
        buttondown_of(email_type="free"),
        buttondown_of(archival_mode="disabled"),
        listmonk_of(archive=False),
        wordpress_of(status="private"),
        wordpress_of("[members_only]Words.[/members_only]"),
    ],
)
def test_private_issues_are_taken_only_if_wanted_and_as_private_ones(data: bytes, tmp_path: Path) -> None:
    assert read(tmp_path / "x", data)[1] == {"T": "It was private: for members or by email only."}
    (tmp_path / "x").write_bytes(data)
    with opened_export(tmp_path / "x", replace(WANTED, with_private=True)) as found:
        assert {issue.title: issue.is_private for issue in found.issues}["T"]


@pytest.mark.parametrize(
    "data",
    [
        ghost_of(visibility="public"),
        substack_of("everyone"),
        buttondown_of(email_type="public"),
        listmonk_of(archive=True),
        wordpress_of(),
    ],
)
def test_public_issues_are_taken(data: bytes, tmp_path: Path) -> None:
    assert "T" in read(tmp_path / "x", data)[0]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (ghost_of(html='<p>Hi {first_name, "there"}, {name}!</p>'), "<p>Hi there, !</p>"),
        (ghost_of(html="<p>Hi {first_name,&quot;you&quot;}.</p>"), "<p>Hi you.</p>"),
        (ghost_of(html="<p>{other, “x”}</p>"), "<p>{other, “x”}</p>"),
    ],
)
def test_fields_of_ghost_become_their_words_for_everyone(data: bytes, expected: str, tmp_path: Path) -> None:
    assert read(tmp_path / "x", data)[0]["T"] == expected


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        ("*|FNAME|*, news", "news"),
        ("News, *|FNAME|*", "News"),
        ("Dear *|FNAME|*, look", "Dear, look"),
        ("… and more", "… and more"),
    ],
)
def test_fields_leave_no_punctuation_in_titles(subject: str, title: str) -> None:
    assert title_of(subject, re.compile(r"\*\|[^|]+\|\*")) == title


def test_a_front_matter_is_no_text() -> None:
    text = "---\nid: 1\nsubject: April\n---\n\n# Hello\n\n---\n\nWords."
    assert buttondown_html(text).startswith("<h1>Hello</h1>")
    assert "April" not in buttondown_html(text)
    assert "<hr" in buttondown_html("---\n\nWords.\n\n---\n")


def test_a_preview_refuses_too_much_markdown_as_the_import_does(tmp_path: Path) -> None:
    row = {"id": "1", "subject": "T", "slug": "t", "publish_date": "2023-01-02T03:04:05Z"}
    data = a_zip({"emails.json": json.dumps([row]).encode(), "emails/t.md": b"x " * 60_000})
    assert "characters of Markdown" in read(tmp_path / "x", data)[1]["T"]
