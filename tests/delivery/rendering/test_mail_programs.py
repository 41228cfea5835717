"""Letters and mails avoid what Outlook's Word engine and Gmail drop.

From Microsoft's “Word HTML and CSS Rendering Capabilities” and Google's “CSS support in Gmail”.
SpamAssassin's own rules, without the network, over emails of all kinds.
"""

import os
import re
import subprocess
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import Any

import pytest

from channels.letter import Letter, Recipient
from common.html.clean import clean
from delivery.rendering.facts import ThemeFacts
from delivery.rendering.issue import render_issue
from delivery.rendering.mail import MAILS_BY_TEMPLATE, render_mail
from feeds.parsing.entry import Media
from tests.channels.email_letters import compose_mail
from tests.delivery.rendering.samples import NOW, SITE, entry, facts, html_of, one
from tests.delivery.rendering.test_mail import context_of
from tests.examples import NIGHTLY
from tests.services import program

# Gmail drops a longer <style>, and every one after it.
LONGEST_STYLE = 8192
DROPPED = re.compile(
    r"(?:^|[;{\s])(?:position|float|display\s*:\s*(?:inline-)?(?:flex|grid)|background-image|background\s*:"
    r"|transform|object-fit|clip|filter)\b(?!-)|calc\(|var\(|url\(|clamp\(|\d(?:rem|vw|vh)\b|margin[^;]*-\d"
)
POST = clean(
    """<p>A <a href="/x">link</a><sup>1</sup> and <code>c</code>.</p>
    <img src="/a.jpg" width="1600" height="9">
    <p><img src="/b.png"></p><blockquote><p>q</p></blockquote><ul><li>a<ul><li>b</li></ul></li></ul>
    <pre>x
      y</pre><blockquote><pre>z</pre></blockquote><p>x<sub>2</sub> <bdi>b</bdi> <kbd>k</kbd></p><h1>h</h1>
    <table><tr><th>a</th><td>b</td></tr></table>
    <table><tr><td><p>a</p></td></tr></table><img src="/d.svg" alt="d"><ul><li><a href="#x">x</a></li></ul>
    <table><tr><th>1<th>2<th>3<th>4<th>5<th>6<th>7<tr><td>1<td>2<td>3<td>4<td>5<td>6<td>7</table>
    <figure><img src="/c.png"><figcaption>c</figcaption></figure>
    <iframe src="https://www.youtube.com/embed/dQw4w9WgXcQ"></iframe>
    <video poster="/p.jpg" src="/v.mp4"></video>
    <hr><details><summary>s</summary>d</details><section style="display:flex">z</section>""",
    base="https://blog.example/1",
)
PICTURE = Media("https://i.example/a.png", "image/png", alt="A bucket")
ELEMENTS_IN_FEW = {"bdi", "ruby", "rt", "rp", "pre", "details", "summary", "picture", "svg", "style"}
ATTRIBUTES_IN_FEW = {"dir": "a", "aria-hidden": "a img p td"}
ISSUES = (
    "post",
    "digest",
    "announcement",
    "excerpts",
    "titles",
    "listed",
    "private",
    "right to left",
    "band",
)
NAMES = [*ISSUES, *(f"mail {name}" for name in MAILS_BY_TEMPLATE)]
# Properties that some programs lack, by caniemail.com, with the places where we may use them.
SUPPORT: dict[str, tuple[str, str]] = {
    # Padding of `.letter` is repeated in Word's own table; that of lists is Word's own.
    "padding": ("td th body a.button div.letter ul ol", "Word, but in cells"),
    "border-left": ("td", "Word, but in cells"),
    "border-right": ("td", "Word, but in cells"),
    "border-bottom": ("td th", "Word, but in cells"),
    "border-top": ("td hr", "Word, but in cells"),
    "white-space": ("", "Word, Samsung"),
    "overflow-x": ("", "Android"),
    "word-break": ("p.raw", "Yahoo, GMX"),
    "text-decoration-color": ("", "Word, GMX"),
    "text-decoration-thickness": ("", "Gmail, Outlook, Yahoo"),
    "text-underline-offset": ("", "Gmail, Outlook, Yahoo"),
    "height": ("img", "Yahoo makes it the least"),
    "table-layout": ("table", "Word"),
    "list-style": ("ul", "Proton"),
}
# Footnotes of 0.75em have 0.2.
HIGHEST = 0.1
FOOTNOTES = "<p>It rains on the river<sup>1</sup> and the lake<sup>2</sup>, H<sub>2</sub>O<sup>3</sup>.</p>"
TEXT = "<p>" + "It rains on the harbour again today, and the ferry stays at its pier. " * 8 + "</p>"
POSTS = {
    "short": "<p>It rains.</p>",
    "long": TEXT * 6,
    "everything": TEXT + POST,
    "footnotes": FOOTNOTES * 4 + TEXT,
    "picture": '<p><img src="https://blog.example/pier.jpg" alt="The pier"></p>' + TEXT,
    "only a link": "",
}
LOOKS: dict[str, dict[str, Any]] = {
    "serif": {},
    "bold": {"theme": ThemeFacts(style="bold", header="News of [both banks](https://valley.example/).")},
    "german": {"language": "de"},
}
FILTERED_ISSUES = {
    **{f"{post}, {look}": one(entry(content=POSTS[post]), **LOOKS[look]) for post in POSTS for look in LOOKS},
    **{
        f"digest of {content}": facts(
            *(entry(n, content=TEXT + FOOTNOTES) for n in range(12)), content=content
        )
        for content in ("full", "excerpt", "titles")
    },
}


@cache
def letters() -> dict[str, str]:
    post = entry(content=POST, media=(PICTURE,))
    issues = {
        "post": one(post),
        "digest": facts(post, entry(2), entry(3, title="")),
        "announcement": one(entry(content="")),
        "excerpts": facts(post, entry(2), entry(3, title=""), content="excerpt"),
        "titles": facts(post, entry(2), entry(3, title=""), content="titles"),
        "listed": facts(post, entry(2), entry(3, link=""), most_posts=1),
        "private": facts(post, entry(2), archive_url=""),
        "right to left": facts(
            entry(1, title="مرحبا", content="<p>مرحبا</p><blockquote>نص</blockquote>", language="ar"),
            replace(post, language="en"),
            language="ar",
            newsletter="الوادي",
        ),
        "band": one(post, theme=ThemeFacts(style="bold", header="[a](https://e.org/)", postal_address="P")),
    }
    found = {name: html_of(render_issue(given)) for name, given in issues.items()}
    return found | {
        f"mail {name}": html_of(render_mail(name, context_of(name))) for name in MAILS_BY_TEMPLATE
    }


every = pytest.mark.parametrize("name", NAMES)


class Elements(HTMLParser):
    """Names, attributes and styles of the elements in the body."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.all: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self.feed(html.partition("</head>")[2])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        style = (each.partition(":") for each in values.get("style", "").split(";") if each.strip())
        self.all.append((tag, values, {name.strip(): value.strip() for name, _, value in style}))


def is_among(name: str, values: dict[str, str], places: str) -> bool:
    return not {name, *(f"{name}.{each}" for each in values.get("class", "").split())}.isdisjoint(
        places.split()
    )


@every
def test_nothing_is_used_where_mail_programs_lack_it(name: str) -> None:
    for tag, values, style in Elements(letters()[name]).all:
        assert tag not in ELEMENTS_IN_FEW
        for attribute, places in ATTRIBUTES_IN_FEW.items():
            assert attribute not in values or not is_among(tag, values, places), (tag, values)
        for rule, value in style.items():
            if value not in ("0", "0px") and rule in SUPPORT:
                places, lacking = SUPPORT[rule]
                assert is_among(tag, values, places), f"{rule} of {tag}: {lacking}"
    for sheet in sheets_of(letters()[name]):
        assert not re.search(r"overflow-x|white-space|\bgrid\b[^{]*\{[^}]*display", sheet)


@every
def test_direction_does_not_need_its_attribute(name: str) -> None:
    """GMX and Web.de drop it."""
    for _, values, style in Elements(letters()[name]).all:
        if values.get("dir", "auto") != "auto":
            assert style["direction"] == values["dir"]
            assert style["text-align"] in ("left", "right")


@every
def test_no_size_looks_like_zero_to_spam_filters(name: str) -> None:
    """SpamAssassin takes 0.75em for hidden words."""
    assert not re.search(r"font-size:\s*0", letters()[name])


@every
def test_links_with_the_same_words_lead_to_the_same_page(name: str) -> None:
    targets: dict[str, set[str]] = {}
    for link in re.finditer(r'<a\b[^>]*href="([^"]*)"([^>]*)>(.*?)</a>', letters()[name], re.DOTALL):
        label = re.search(r'aria-label="([^"]*)"', link[2])
        alt = re.search(r'alt="([^"]*)"', link[3])
        words = label[1] if label else re.sub("<[^>]*>", "", link[3]).strip() or (alt[1] if alt else "")
        assert words
        # Contents lead to the issue's page, titles to the post's.
        if "#post-" not in link[1]:
            targets.setdefault(words, set()).add(link[1])
    assert {words for words, pages in targets.items() if len(pages) > 1} <= {"link", "d"}


def styles_of(html: str) -> list[str]:
    return re.findall(r' style="([^"]*)"', html)


def sheets_of(html: str) -> list[str]:
    return re.findall(r"<style[^>]*>(.*?)</style>", html, re.DOTALL)


@every
def test_no_style_is_one_that_is_dropped(name: str) -> None:
    for style in (*styles_of(letters()[name]), *sheets_of(letters()[name])):
        assert not DROPPED.search(style), style


@every
def test_the_style_sheets_fit_and_hold_nothing_that_gmail_drops_all_of_them_for(name: str) -> None:
    sheets = sheets_of(letters()[name])
    assert sum(map(len, sheets)) < LONGEST_STYLE
    for sheet in sheets:
        assert sheet.count("{") == sheet.count("}")
        assert "@import" not in sheet
        assert "@font-face" not in sheet
        # No at-rule with braces is nested in another rule with braces.
        assert not re.search(r"@media[^{]*\{[^@]*@", re.sub(r"\}\s*\}", "}}\n", sheet).split("}}")[0])


@every
def test_whatever_is_needed_to_read_stands_in_the_elements(name: str) -> None:
    """The remaining style sheets are for phones, dark mode and Outlook only."""
    html = letters()[name]
    for sheet in sheets_of(re.sub(r"<!--\[if mso\]>.*?<!\[endif\]-->", "", html, flags=re.DOTALL)):
        rules = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*\s*\}", "", sheet).strip()
        assert rules in ("", ":root { color-scheme: light dark; supported-color-schemes: light dark; }")
    for wanted in ("font-family", "font-size: 1[78]px", "max-width: 552px", "background-color: #ffffff"):
        assert any(re.search(wanted, style) for style in styles_of(html))


@every
def test_outlook_gets_a_table_of_600_pixels_and_pixels_that_are_pixels(name: str) -> None:
    html = letters()[name]
    assert html.count("<!--[if mso]>") == html.count("<![endif]-->") == 3
    assert '<!--[if mso]><table role="presentation" align="center" width="600"' in html
    assert "<o:PixelsPerInch>96</o:PixelsPerInch>" in html


@every
def test_tables_that_only_place_things_say_so(name: str) -> None:
    for table in re.findall(r"<table[^>]*>", letters()[name]):
        assert 'role="presentation"' in table or 'class="grid"' in table


@every
def test_every_image_has_words_a_width_and_is_never_too_wide(name: str) -> None:
    for image in re.findall(r"<img[^>]*>", letters()[name]):
        assert " alt=" in image
        assert int(re.search(r' width="(\d+)"', image)[1]) <= 552  # type: ignore[index]
        assert "max-width: 100%" in image
        assert "height: auto" in image


@every
def test_every_link_leads_to_the_web(name: str) -> None:
    html = letters()[name]
    for address in re.findall(r'<a [^>]*href="([^"]*)"', html):
        assert address.startswith(("https://", "mailto:"))


@every
def test_a_button_is_one_without_any_style(name: str) -> None:
    """Outlook uses the cell's bgcolor and mso-padding-alt, never the padding of a link."""
    html = letters()[name]
    for cell in re.findall(r'<td class="button"[^>]*>', html):
        assert re.search(r' bgcolor="#[0-9a-f]{6}"', cell)
        assert "mso-padding-alt: 13px 26px" in cell
    assert len(re.findall(r'<a class="button"', html)) == len(re.findall(r'<td class="button"', html))


@every
def test_nothing_runs_and_nothing_is_a_form(name: str) -> None:
    assert not re.search(
        r"<(?:script|iframe|video|audio|object|embed|form|input|svg|link|base)\b", letters()[name]
    )
    assert not re.search(r"\son\w+=", letters()[name])


def emails() -> dict[str, Letter]:
    found = {name: ("issue", render_issue(given)) for name, given in FILTERED_ISSUES.items()}
    found |= {name: ("alert", render_mail(name, context_of(name))) for name in MAILS_BY_TEMPLATE}
    return {
        name: Letter(
            kind=kind,
            newsletter="valley",
            newsletter_title="The Valley Weekly",
            title=rendered.title,
            subject=rendered.subject,
            html=rendered.html,
            text=rendered.text,
            token="t0ken",
            placeholders=rendered.placeholders,
            from_email="The Valley Weekly <letters@letters.example>",
            archive_url=f"{SITE}/s/valley/archive/",
        )
        for name, (kind, rendered) in found.items()
    }


@NIGHTLY
def test_no_email_looks_like_spam() -> None:
    path = program("spamassassin")
    if path is None:
        missing = pytest.fail if os.environ.get("REQUIRE_SERVICES") == "1" else pytest.skip
        missing("Missing: spamassassin (Debian: spamassassin)")
    reader = Recipient(
        delivery_id=7,
        core="ada@example.net",
        label="ada@example.net",
        name="Ada Lovelace",
        config={"address": "ada@example.net"},
        unsubscribe_url=f"{SITE}/unsubscribe/abc123/",
        manage_url=f"{SITE}/manage/abc123/",
    )
    found = emails()
    assert len(found) >= 30
    for name, letter in found.items():
        message = compose_mail(letter, reader, site_host="letters.example").dated(NOW)
        checked = subprocess.run(
            [str(path), "-L", "-t"], input=message, capture_output=True, check=True, timeout=120
        )
        report = checked.stdout.decode("utf-8", "replace")
        score = re.search(r"^X-Spam-Status: \w+, score=(-?[\d.]+)", report, re.MULTILINE)
        assert score, report[:2000]
        assert float(score[1]) <= HIGHEST, f"{name}: {report.rpartition('Content analysis details')[2]}"
