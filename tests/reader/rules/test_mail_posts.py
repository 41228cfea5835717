"""Emails as posts: nothing in them is fetched, and nothing in them can hurt."""

import resource
import time
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from feeds.polling.read import clean_entry
from reader.rules.mail_posts import (
    LONGEST_NAME,
    MAX_BODY,
    MAX_RAW,
    Leaving,
    MailPost,
    UnfitMail,
    confirmation_in,
    leaving_of,
    read_mail,
    without_layout,
)
from tests.reader.inbox.conftest import newsletter

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
HEAD = b"From: a@news.example\nSubject: x\n"


def read(raw: bytes) -> MailPost:
    return read_mail(raw, now=NOW)


def shown(html: str) -> str:
    return clean_entry(read(newsletter(html=html)).post, "https://here.example/").content.strip()


def unfit(raw: bytes) -> str:
    with pytest.raises(UnfitMail) as caught:
        read(raw)
    return str(caught.value)


@given(st.binary(max_size=2_000))
@example(b"")
@example(b"\n\n")
@example(b"Content-Type: multipart/mixed\n\n--\n")
def test_any_octets_are_a_post_or_unfit(raw: bytes) -> None:
    try:
        post = read(raw)
    except UnfitMail:
        return
    assert len(post.title) <= LONGEST_NAME
    assert post.source


@pytest.mark.parametrize("charset", ["utf-8", "cp1252"])
def test_octets_without_a_charset_are_read_as_their_program_meant_them(charset: str) -> None:
    raw = "From: Büro <a@news.example>\nSubject: Grüße aus Köln\n\nZwölf Boote\n".encode(charset)
    post = read(raw).post
    assert (post.title, post.authors) == ("Grüße aus Köln", ("Büro",))
    assert "Zwölf Boote" in post.content


HEADERS = st.sampled_from(
    ["From", "Subject", "List-Id", "List-Unsubscribe", "Date", "Content-Type", "Archived-At", "Message-ID"]
)


@given(st.lists(st.tuples(HEADERS, st.text(max_size=300)), max_size=12), st.text(max_size=500))
def test_any_headers_are_bounded(fields: list[tuple[str, str]], body: str) -> None:
    lines = [f"{name}: {value.replace(chr(10), ' ').replace(chr(13), ' ')}\n" for name, value in fields]
    raw = ("X-A: b\n" + "".join(lines) + "\n" + body).encode("utf-8", "surrogatepass")
    try:
        post = read(raw)
    except UnfitMail:
        return
    assert len(post.source) <= 250
    assert len(post.sender) <= 250
    assert "\n" not in post.title + post.source + post.leaving.subject + post.post.title
    assert post.leaving.one_click.startswith(("https://", "")) or not post.leaving.one_click


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ('"Doe, Jane" <Jane@News.example>', "Doe, Jane"),
        ("=?utf-8?q?J=C3=A4ne?= <jane@news.example>", "Jäne"),
        ("jane@news.example", "jane@news.example"),
        ("jane@news.example (Jane)", "Jane"),
    ],
)
def test_the_sender_is_the_author(field: str, name: str) -> None:
    post = read(f"From: {field}\n\nHello".encode())
    assert post.post.authors == (name,)
    assert (post.source, post.title, post.sender) == ("jane@news.example", name, "jane@news.example")


def test_a_list_is_known_by_its_id() -> None:
    post = read(newsletter(List_Id='"Weekly news" <Weekly.news.example>'))
    assert (post.source, post.title) == ("weekly.news.example", "Weekly news")
    post = read(newsletter(List_Id="<weekly.news.example>"))
    assert (post.source, post.title) == ("weekly.news.example", "Jane Doe")


def test_html_is_preferred_and_text_becomes_paragraphs() -> None:
    assert "Hello" in read(newsletter()).post.content
    assert "plain words" not in read(newsletter()).post.content
    assert read(HEAD + b"\nOne <b>\n\nTwo").post.content == "<p>One &lt;b&gt;</p><p>Two</p>"


def test_attachments_are_listed_by_name_and_size() -> None:
    def attach(message: EmailMessage) -> None:
        message.add_attachment(b"x" * 1_500_000, maintype="application", subtype="pdf", filename="a<b>.pdf")
        message.add_attachment(b"x" * 900, maintype="image", subtype="png", filename="note.png")

    content = read(newsletter(change=attach)).post.content
    assert "<li>📎 a&lt;b&gt;.pdf (1.5 MB)</li><li>📎 note.png (1 kB)</li>" in content
    assert len(content) < 300


def test_pictures_of_the_text_are_no_files() -> None:
    def attach(message: EmailMessage) -> None:
        html = message.get_payload(1)
        assert isinstance(html, EmailMessage)
        html.add_related(b"x", maintype="image", subtype="png", cid="<a@b>", filename="logo.png")

    raw = newsletter(html='<p>Hi <img src="cid:a@b" alt="logo"></p>', change=attach)
    assert "📎" not in read(raw).post.content
    assert "cid:" not in clean_entry(read(raw).post, "https://here.example/").content


@pytest.mark.parametrize(
    "image",
    [
        '<img src="https://t.example/p.gif" width="1" height="1">',
        "<img width=1 src='https://t.example/p.gif'>",
        '<img src="https://t.example/p.gif" style="height:1px;width:100%">',
        '<img src="https://t.example/p.gif" style="display:none">',
        '<img src="https://u1.ct.sendgrid.net/wf/open?upn=x" alt="">',
        '<img src="https://news.list-manage.com/track/open.php?u=1" >',
    ],
)
def test_trackers_are_dropped(image: str) -> None:
    assert shown(f"<p>Hello {image}</p>") == "<p>Hello </p>"


def test_pictures_stay() -> None:
    image = '<img src="https://news.example/a.jpg" width="600" height="100">'
    assert shown(f"<p>{image}</p>") == f"<p>{image}</p>"


def test_nothing_active_is_kept_and_relative_links_lead_to_the_sender() -> None:
    html = (
        '<script>x()</script><p onclick="x()">a <a href="javascript:x()">b</a> <a href="/reader/">c</a></p>'
        '<form action="/x"><input></form><iframe src="/y"></iframe><style>p{}</style>'
    )
    content = shown(html)
    assert "script" not in content
    assert "onclick" not in content
    assert "<form" not in content
    assert "<iframe" not in content
    assert 'href="https://news.example/reader/"' in content
    assert "here.example" not in content


def test_tables_that_arrange_become_blocks() -> None:
    html = (
        '<table role="presentation"><tr><td><table><tr><td style="display:none">Hidden</td></tr>'
        '<tr style="display:none"><td>Gone</td></tr><tr><td><p>Shown</p></td></tr></table></td></tr></table>'
    )
    content = shown(html)
    assert "<table" not in content
    assert "<p>Shown</p>" in content
    assert "Hidden" not in content
    assert "Gone" not in content
    data = "<table><tr><td>1</td></tr></table>"
    assert without_layout(data) == data


@pytest.mark.parametrize(
    ("field", "post", "leaving"),
    [
        (
            "<https://n.example/u?a=1>, <mailto:u@n.example?subject=leave%20me>",
            "List-Unsubscribe=One-Click",
            Leaving("https://n.example/u?a=1", "https://n.example/u?a=1", "u@n.example", "leave me"),
        ),
        ("<https://n.example/u>", "", Leaving("", "https://n.example/u", "", "unsubscribe")),
        # RFC 8058 §3.1 requires https.
        (
            "<http://n.example/u>",
            "List-Unsubscribe=One-Click",
            Leaving("", "http://n.example/u", "", "unsubscribe"),
        ),
        ("<mailto:u@n.example>", "", Leaving("", "", "u@n.example", "unsubscribe")),
        (
            "<mailto:u@n.example,b@n.example?subject=a%0d%0aBcc: c@n.example>",
            "",
            Leaving("", "", "u@n.example", "a Bcc:c@n.example"),
        ),
        (
            "<javascript:x>, <ftp://n.example>, u",
            "List-Unsubscribe=One-Click",
            Leaving("", "", "", "unsubscribe"),
        ),
        ("", "", Leaving("", "", "", "unsubscribe")),
    ],
)
def test_ways_to_unsubscribe(field: str, post: str, leaving: Leaving) -> None:
    message = EmailMessage()
    raw: Any = message
    if field:
        raw["List-Unsubscribe"] = field
    if post:
        raw["List-Unsubscribe-Post"] = post
    assert leaving_of(raw) == leaving


@pytest.mark.parametrize(
    ("subject", "html", "link"),
    [
        (
            "Confirm your subscription",
            '<p><a href="https://n.example/c?a=1&amp;b=2">Yes</a> <a href="https://n.example/confirm">Confirm</a></p>',
            "https://n.example/confirm",
        ),
        (
            "Bitte bestätigen Sie Ihre Anmeldung",
            '<a href="https://n.example/x">Anmeldung bestätigen</a>',
            "https://n.example/x",
        ),
        (
            "Confirmez votre inscription",
            "<p>Ouvrez https://n.example/confirm?a=1&amp;b=2.</p>",
            "https://n.example/confirm?a=1&b=2",
        ),
        ("Confirm your subscription", '<a href="javascript:confirm()">Confirm</a>', ""),
        ("The first issue", '<a href="https://n.example/confirm">Read</a>', ""),
        (
            "Confirm your subscription",
            "<p>" + "word " * 2_000 + '<a href="https://n.example/confirm">x</a>',
            "",
        ),
    ],
)
def test_requests_to_confirm_are_recognized(subject: str, html: str, link: str) -> None:
    assert confirmation_in(html, subject) == link


@pytest.mark.parametrize(
    "raw",
    [
        newsletter(Auto_Submitted="auto-replied"),
        newsletter(sender="MAILER-DAEMON@n.example"),
        newsletter(Return_Path="<>"),
        b"Content-Type: multipart/report; boundary=b\n" + HEAD + b"\n--b\n\n--b--",
        HEAD + b"Received: x\n" * 51 + b"\nHello",
    ],
)
def test_automatic_messages_are_no_posts(raw: bytes) -> None:
    assert unfit(raw) == "automatic"


def test_generated_newsletters_are_posts() -> None:
    assert read(newsletter(Auto_Submitted="auto-generated", Precedence="bulk", subject="Vacation ideas"))


def nested(levels: int) -> bytes:
    parts = (b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(levels))
    return HEAD + b"".join(parts) + b"\nhi\n"


def test_nesting_and_parts_are_bounded() -> None:
    assert read(nested(19)).post.content == "<p>hi</p>"
    for levels in (22, 199, 1_000):
        assert unfit(nested(levels)) == "complex"
    parts = (
        b"Content-Type: multipart/mixed; boundary=b\n"
        + HEAD
        + b"\n"
        + b"--b\nContent-Type: text/plain\n\na\n" * 300
    )
    assert unfit(parts) == "complex"


BASE64 = b"Content-Transfer-Encoding: base64\n"
FILE = (
    b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n"
    b"--b\nContent-Type: application/pdf; name=x.pdf\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (lambda: HEAD + b"\n" + b"x" * 50_000_000, "large"),
        (lambda: HEAD + b"\n" + b"x y\n" * 6_000_000, "large"),
        (lambda: HEAD + b"\n" + b"x" * (MAX_BODY + 1), "large"),
        (lambda: HEAD + b"Content-Type: text/html\n\n" + b"<" * (MAX_RAW - 100), "large"),
        (lambda: HEAD + b"Content-Type: text/html\n\n" + b"<table><td none>" * 300_000, ""),
        (lambda: HEAD + b"Content-Type: text/html\n\n" + b"<!--" * 1_200_000, ""),
        (lambda: HEAD + b"From: " + b"a," * 5_000_000 + b"\n\nhi", "complex"),
        (lambda: HEAD + b"List-Unsubscribe: " + b"\n <x>" * 400_000 + b"\n\nhi", "complex"),
        (lambda: HEAD + b"Content-Disposition: x; " + b"filename*0*=a;" * 10_000 + b"\n\nhi", "complex"),
        (lambda: nested(150) + b"line\n" * 30_000, "complex"),
        (lambda: HEAD + FILE + BASE64 + b"\n" + (b"A" * 76 + b"\n") * 310_000 + b"--b--\n", ""),
    ],
)
def test_bombs_cost_seconds_and_some_memory(raw: Any, reason: str) -> None:
    octets = raw()
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    if reason:
        assert unfit(octets) == reason
    else:
        assert len(read(octets).post.content) <= 500_000
    assert time.process_time() - began < 5
    # In KiB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
