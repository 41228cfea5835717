"""Letters and mails avoid what Outlook's Word engine and Gmail drop.

From Microsoft's “Word HTML and CSS Rendering Capabilities” and Google's “CSS support in Gmail”.
"""

import re
from functools import cache

import pytest

from common.html.clean import clean
from delivery.rendering.issue import render_issue
from delivery.rendering.mail import MAILS_BY_TEMPLATE, render_mail
from feeds.parsing.entry import Media
from tests.delivery.rendering.samples import entry, facts, html_of, one
from tests.delivery.rendering.test_mail import context_of

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
    <pre>x</pre>
    <table><tr><th>a</th><td>b</td></tr></table>
    <figure><img src="/c.png"><figcaption>c</figcaption></figure>
    <iframe src="https://www.youtube.com/embed/dQw4w9WgXcQ"></iframe>
    <video poster="/p.jpg" src="/v.mp4"></video>
    <hr><details><summary>s</summary>d</details><section style="display:flex">z</section>""",
    base="https://blog.example/1",
)
PICTURE = Media("https://i.example/a.png", "image/png", alt="A bucket")


@cache
def letters() -> dict[str, str]:
    post = entry(content=POST, media=(PICTURE,))
    issues = {
        "post": one(post),
        "digest": facts(post, entry(2), entry(3, title="")),
        "announcement": one(entry(content="")),
    }
    found = {name: html_of(render_issue(given)) for name, given in issues.items()}
    return found | {
        f"mail {name}": html_of(render_mail(name, context_of(name))) for name in MAILS_BY_TEMPLATE
    }


NAMES = ["post", "digest", "announcement", *(f"mail {name}" for name in MAILS_BY_TEMPLATE)]
every = pytest.mark.parametrize("name", NAMES)


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
    for wanted in ("font-family", "font-size: 18px", "max-width: 552px", "background-color: #ffffff"):
        assert any(wanted in style for style in styles_of(html))


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
def test_every_link_leads_to_the_web_or_into_the_letter(name: str) -> None:
    html = letters()[name]
    for address in re.findall(r'<a [^>]*href="([^"]*)"', html):
        assert address.startswith(("https://", "mailto:", "#post-"))
        if address.startswith("#"):
            assert f'id="{address[1:]}" name="{address[1:]}"' in html


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
