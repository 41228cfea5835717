"""Issues as letters.

An editor's notes in a letter whose own template has no place for them.
Gmail clips letters after 102 KB: none is larger if its posts can be read elsewhere.
"""

import html as entities
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from django.utils.safestring import mark_safe
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels.letter import LetterError
from common.html.clean import clean
from delivery.rendering.errors import Rendered, RenderedParts, UnknownTemplate
from delivery.rendering.facts import IssueFacts, TemplateSource, ThemeFacts
from delivery.rendering.issue import Note, Notes, note_of, render_issue, with_notes
from feeds.parsing.entry import Media
from tests.delivery.rendering.samples import NOW, SITE, entry, facts, html_of, one, text_of
from tests.examples import examples, some_now

CUT = "Continue reading"
BASE = "https://blog.example/1"
PARAGRAPH = '<p>Rain on the <a href="/river">river</a>, and <em>more</em> of it.</p>'
MEDIA = tuple(
    Media(f"https://i.example/{number}/{'x' * 100}.jpg", "image/jpeg", alt="rain " * 40)
    for number in range(10)
)
LARGE: dict[str, Callable[[], IssueFacts]] = {
    "300 KB": lambda: one(entry(content=clean(PARAGRAPH * 5000, base=BASE))),
    "no space in it": lambda: one(entry(content="x" * 300_000)),
    "50 long posts": lambda: facts(
        *(entry(n % 9, content=clean(PARAGRAPH * 300, base=BASE)) for n in range(50))
    ),
    "200 posts": lambda: facts(
        *(entry(n % 9, title="Rain " * 60, content="<p>x</p>" * 500) for n in range(200))
    ),
    "all tags": lambda: facts(*(entry(n, content="<p>" + "<b>x</b>" * 5000 + "</p>") for n in range(9))),
    "lists": lambda: one(entry(content=clean("<ul>" + "<li>x</li>" * 20_000 + "</ul>", base=BASE))),
    "tables": lambda: one(entry(content=clean("<table>" + "<tr><td>1<td>2" * 9_000 + "</table>", base=BASE))),
    "images": lambda: one(entry(content=clean('<p><img src="/a.jpg" alt="rain"></p>' * 3000, base=BASE))),
    "arabic": lambda: facts(*(entry(n, content="<p>" + "مطر " * 30_000 + "</p>") for n in range(5))),
    "many words around": lambda: facts(
        *(entry(n % 9, content="<p>x</p>" * 3000) for n in range(30)),
        theme=ThemeFacts(header="https://e.org/ " * 130, footer="a " * 1000, postal_address="b " * 1000),
    ),
}
NONE = note_of("", base="")
TOP, FOOT = Note(mark_safe("<p>Hello</p>"), "Hello"), Note(mark_safe("<p>Bye</p>"), "Bye")
TEMPLATES = ["post", "digest", "announcement"]
ODD = {
    "no title": entry(title=""),
    "no link": entry(link=""),
    "nothing at all": entry(title="", link="", authors=(), content="", published=None),
    "only a link": entry(title="", authors=(), content="", published=None),
    "a script's link": entry(link="javascript:alert(1)", image="javascript:alert(2)"),
    "a broken link": entry(link="http://[x"),
    "huge": entry(content="<p>Rain and rain.</p>" * 50_000),
    "a word": entry(content="x" * 300_000),
    "a thousand images": entry(content='<img src="https://i.example/x.png" alt="rain">' * 5000),
    "long title": entry(title="Rain " * 2000),
    "right to left": entry(title="مرحبا", content="<p>رسالة</p>", language="ar"),
    "control characters": entry(title="a\x00b\r\nc", authors=("d\x1be",), content="<p>f</p>"),
    "deep": entry(content="<div>" * 30_000 + "x"),
    "never closed": entry(content="</div></div></body><p>x<b>"),
    "old": entry(published=datetime(1, 1, 2, tzinfo=UTC)),
}
DAYS = {
    "en": "5 March 2026",
    "en-US": "March 5, 2026",
    "en-GB": "5 March 2026",
    "en-AU": "5 March 2026",
    "de-AT": "5. März 2026",
    "fr": "5 mars 2026",
    # Only Django's dates.
    "sv": "5 mars 2026",
    "he": "5 במרץ 2026",
    "zh-TW": "2026年3月5日",
    "tlh": "March 5, 2026",
}


def tags(html: str) -> set[str]:
    """Return the names of all elements."""
    names: set[str] = set()
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: names.add(tag)  # type: ignore[method-assign]
    parser.feed(html)
    return names


@pytest.mark.parametrize("template", some_now(TEMPLATES))
@pytest.mark.parametrize("odd", some_now(ODD))
def test_every_template_takes_odd_posts(template: str, odd: str) -> None:
    letter = render_issue(facts(ODD[odd], entry(2), template=template))
    html = html_of(letter)
    assert len(html.encode()) < 102_000
    assert f'href="{SITE}/unsubscribe/abc/"' in html
    assert f"Unsubscribe: {SITE}/unsubscribe/abc/" in text_of(letter)
    assert "Post 2" in html
    assert "javascript:" not in html
    assert "\x00" not in html + letter.text
    assert html.rstrip().endswith("</html>")
    assert html.index("Post 2") < html.index("You get this email") < html.index("</body>")


def test_a_field_in_a_post_stays_text() -> None:
    told = "Write %ToEmail%, {% debug %} or {{ newsletter }}."
    letter = render_issue(one(entry(title=told, content=f"<p>{told}</p>")))
    for part in (html_of(letter), text_of(letter)):
        assert part.count("%ToEmail%, {% debug %} or {{ newsletter }}") >= 2
    assert "%ToEmail%" in letter.subject
    assert not any(token in letter.subject for token in letter.placeholders.values())


def test_the_fields_of_the_foot_are_filled_and_no_token_is_left() -> None:
    letter = render_issue(facts())
    assert set(letter.placeholders) == {"toemail", "managelink", "removelink", "archivelink", "weblink"}
    for filled in (html_of(letter), text_of(letter)):
        assert "ada@example.net" in filled
        assert f"{SITE}/manage/abc/" in filled
        assert not any(token in filled for token in letter.placeholders.values())


def test_a_name_of_a_stranger_or_an_admin_is_never_markup() -> None:
    evil = '<script>alert("x")</script>'
    post = entry(
        title=evil, authors=(evil,), media=(Media("https://i.example/a.png", "image/png", alt=f'"{evil}'),)
    )
    letter = render_issue(one(post, newsletter=evil, params={"postal_address": evil}))
    html = html_of(letter, toemail=evil)
    assert "script" not in tags(html)
    assert html.count(entities.escape(evil, quote=False)) + html.count(entities.escape(evil)) >= 4


def test_links_stay_as_they_were_and_two_people_get_the_same_pictures() -> None:
    """As docs/no-tracking.md promises."""
    link = "https://shop.example/boats?utm_source=blog&amp;size=2"
    pixel = '<img src="https://blog.example/open.gif" width="1" height="1">'
    content = f'<p><a href="{link}">Boats</a> <img src="https://blog.example/boat.jpg" alt="Boat">{pixel}</p>'
    letter = render_issue(one(entry(content=clean(content, base=SITE))))
    ada, ben = html_of(letter), html_of(letter, toemail="ben@example.net", managelink=f"{SITE}/manage/ben/")
    assert f'href="{link}"' in ada
    assert "open.gif" not in ada
    pictures = [re.findall(r'src="([^"]+)"', html) for html in (ada, ben)]
    assert pictures[0] == pictures[1] == ["https://blog.example/boat.jpg"]


def test_line_breaks_in_a_title_do_not_reach_a_header() -> None:
    theme = ThemeFacts(subject="{newsletter}: {title}")
    post = entry(title="Rain\r\nBcc: all@example.org")
    letter = render_issue(one(post, newsletter="V\r\nX-Evil: 1", theme=theme))
    assert letter.subject == "V X-Evil: 1: Rain Bcc: all@example.org"
    assert "\r" not in letter.title + letter.text


def test_each_post_gets_a_letter_of_its_own_kind() -> None:
    post = html_of(render_issue(one(entry(title="Rain"))))
    bare = html_of(render_issue(one(entry(title="Rain", content=""))))
    assert "The text of post 1." in post
    assert "Read it on the web" in bare
    assert "Read it on the web" not in post


def test_a_digest_begins_with_its_contents() -> None:
    """Few mail programs for phones follow links within an email."""
    html = html_of(render_issue(facts()))
    private = html_of(render_issue(facts(entry(1), entry(2, link=""), archive_url="")))
    for number, title in enumerate(("Post 1", "Post 2", "Post 3"), start=1):
        link = f'href="{SITE}/s/valley/archive/#post-{number}"'
        assert html.index(link) < html.index("The text of post 1.")
        assert html.count(f">{title}</a>") == 2
    contents = private.partition('class="contents"')[2].partition("</ul>")[0]
    assert re.findall(r'href="([^"]*)"', contents) == ["https://blog.example/1"]
    assert "Post 2</li>" in contents


def test_an_unknown_template_and_no_posts_are_refused() -> None:
    with pytest.raises(UnknownTemplate, match="nonsense"):
        render_issue(facts(template="nonsense"))
    with pytest.raises(LetterError, match="without posts"):
        render_issue(replace(facts(), entries=()))


def test_a_long_post_is_cut_with_a_way_to_the_rest() -> None:
    long = "<p>Rain on the <b>river</b>.</p>" * 20_000
    html = html_of(render_issue(one(entry(content=long))))
    assert "Continue reading" in html
    assert html.count("Rain on the") > 100
    assert "Continue reading" not in html_of(render_issue(facts()))


def test_a_post_that_stands_nowhere_else_is_not_cut() -> None:
    long = "<p>Rain on the river.</p>" * 10_000
    letter = render_issue(one(entry(content=long, link=""), archive_url=""))
    assert letter.html.count("Rain on the river.") >= 10_000


@pytest.mark.slow
def test_a_short_post_is_whole_beside_a_long_one() -> None:
    short = "<p>" + "Sun. " * 500 + "The end.</p>"
    html = html_of(render_issue(facts(entry(1, content="<p>Rain.</p>" * 50_000), entry(2, content=short))))
    assert "The end.</p>" in html


def test_very_many_posts_are_mentioned_all() -> None:
    letter = render_issue(facts(*(entry(number % 9, title=f"Number {number}.") for number in range(150))))
    for number in range(150):
        assert f"Number {number}." in letter.html
        assert f"Number {number}." in letter.text


def test_the_letter_says_its_language_and_direction() -> None:
    html = render_issue(facts(language="ar")).html
    assert re.search(r'<html[^>]* lang="ar"', html)
    assert re.search(r'<html[^>]* dir="rtl"', html)
    assert 'lang="nonsense' not in render_issue(facts(language='nonsense" onload="x')).html


def test_dates_are_in_the_newsletters_language_and_zone() -> None:
    post = entry(published=datetime(2026, 3, 4, 23, 30, tzinfo=UTC))
    for language, day in DAYS.items():
        letter = render_issue(one(post, language=language, time_zone="Europe/Vienna"))
        assert day.replace(" ", "\xa0") in letter.html.replace("&nbsp;", "\xa0"), language


def days_in(letter: Rendered) -> list[str]:
    """Return the dates in the HTML, then those in the text."""
    shown = re.sub(r"<head>.*?</head>", "", letter.html, flags=re.DOTALL).replace("&nbsp;", "\xa0")
    return [
        *re.findall("March\xa0\\d+,\xa02026", shown),
        "|",
        *re.findall("March\xa0\\d+,\xa02026", letter.text),
    ]


def test_a_letter_of_one_post_says_one_date() -> None:
    dated, today, undated = entry(), entry(published=NOW), entry(published=None)
    yesterday, now = "March\xa07,\xa02026", "March\xa08,\xa02026"
    every: tuple[dict[str, Any], ...] = ({}, {"content": ""}, {"title": ""})
    for changes in every:
        assert days_in(render_issue(one(replace(dated, **changes)))) == [yesterday, "|", yesterday], changes
        assert days_in(render_issue(one(replace(today, **changes)))) == [now, "|", now], changes
    assert days_in(render_issue(one(undated))) == [now, "|", now]
    untitled = render_issue(one(replace(today, title=""))).html
    assert re.search(r'href="https://blog.example/1"[^>]*><span dir="auto">March', untitled)


def test_a_post_of_the_day_of_its_letter_does_not_say_it_again() -> None:
    posts = (entry(1, published=NOW), entry(2, published=NOW), entry(3, published=NOW - timedelta(days=3)))
    daily = render_issue(facts(*posts, arrangement="daily", period_start=NOW - timedelta(hours=2)))
    assert days_in(daily) == [
        "March\xa08,\xa02026",
        "March\xa05,\xa02026",
        "|",
        "March\xa08,\xa02026",
        "March\xa05,\xa02026",
    ]


def test_an_own_template_shows_dates_where_it_wants_them() -> None:
    own = {
        "issues/post": TemplateSource(
            html="{{ dateline }} {% for post in posts %}{{ post.date }}"
            "{% include 'parts/byline.html' %}{% endfor %}"
        )
    }
    assert days_in(render_issue(one(entry(published=NOW), own=own)))[:3] == ["March\xa08,\xa02026"] * 3


def test_the_accent_is_used_and_nonsense_is_not() -> None:
    assert "#b3261e" in render_issue(facts(params={"accent": "#b3261e"})).html
    assert "evil" not in render_issue(facts(params={"accent": "red;}</style>evil"})).html


def test_a_postal_address_stands_at_the_foot_when_there_is_one() -> None:
    letter = render_issue(facts(params={"postal_address": "12 River Road\nOld Bridge"}))
    assert re.search(r"12 River Road<br ?/?>Old Bridge", letter.html)
    assert letter.text.endswith("12 River Road\nOld Bridge\n")


def test_a_private_newsletter_has_no_link_to_an_archive() -> None:
    letter = render_issue(facts(archive_url=""))
    assert "Past issues" not in letter.html + letter.text
    assert "archivelink" not in letter.placeholders


def test_nothing_is_fetched_by_a_letter_but_the_posts_images() -> None:
    html = render_issue(facts()).html
    assert "url(" not in html
    assert not {"link", "img", "script", "iframe", "object"} & tags(html)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.text(max_size=400),
    st.lists(st.sampled_from(["<p>", "</p>", "<b>", "<", "&", "</div>", "<img alt='", ">"])),
)
def test_any_cleaned_post_can_be_rendered_whole(text: str, pieces: list[str]) -> None:
    content = clean(text.join(pieces) + text, base="https://blog.example/")
    letter = render_issue(one(entry(title=text, content=content)))
    assert html_of(letter).count("</body>") == 1
    assert text_of(letter).endswith("archive/\n")


def test_they_stand_before_and_after_all_else() -> None:
    drawn = RenderedParts(html='<html><BODY class="a">posts</body ></html>', text="posts\n")
    made = with_notes(drawn, Notes(TOP, FOOT))
    assert made.text == "Hello\n\nposts\n\nBye\n"
    start, middle, end = made.html.partition("posts")
    assert start.startswith('<html><BODY class="a"><div class="note note-top"')
    assert start.endswith("<p>Hello</p></div>")
    assert middle
    assert end.startswith('<div class="note note-foot"')
    assert end.endswith("<p>Bye</p></div></body ></html>")


def test_without_a_body_they_are_the_first_and_the_last() -> None:
    made = with_notes(RenderedParts(html="posts", text="posts"), Notes(TOP, FOOT)).html
    assert made.index("Hello") < made.index("posts") < made.index("Bye")


def test_what_the_template_shows_itself_is_not_shown_twice() -> None:
    drawn = RenderedParts(html='<div class="note note-top"><p>Hello</p></div>posts', text="posts\n\nHello\n")
    assert with_notes(drawn, Notes(TOP, NONE)) == drawn
    assert with_notes(drawn, Notes(NONE, NONE)) == drawn


@pytest.mark.slow
@pytest.mark.parametrize("name", some_now(LARGE, every=2))
def test_a_large_letter_fits_and_says_where_the_rest_is(name: str) -> None:
    letter = render_issue(LARGE[name]())
    html, text = html_of(letter), text_of(letter)
    assert len(html.encode()) < 102_000
    assert CUT in html
    assert f"{CUT}: https://blog.example/" in text
    assert html.rstrip().endswith("</html>")
    assert "Unsubscribe" in html


def test_posts_full_of_media_fit_as_well() -> None:
    letter = render_issue(facts(*(entry(n % 9, media=MEDIA) for n in range(50))))
    assert len(html_of(letter).encode()) < 102_000


def test_images_that_are_written_out_in_a_post_are_left_out() -> None:
    image = f'<img src="data:image/png;base64,{"iVBORw0K" * 40_000}" alt="A chart">'
    content = clean(f"<p>Before.</p><p>{image}</p><p>After.</p>", base=BASE)
    html = html_of(render_issue(one(entry(content=content))))
    assert "base64" not in html
    assert "A chart" in html
    assert "After." in html
    assert CUT not in html


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("<p>" + "Rain on the river. " * 20 + "</p>", id="whole"),
        pytest.param("<p>Дождь на реке. " * 20 + "</p>", id="two bytes a letter"),
        pytest.param("<ul><li>x</li></ul>", id="styled again and again"),
    ],
)
def test_a_letter_that_has_to_be_cut_is_nearly_full(content: str) -> None:
    many = 100_000 // len(content) * 3
    html = html_of(render_issue(one(entry(content=clean(content * many, base=BASE)))))
    assert CUT in html
    assert 93_000 < len(html.encode()) <= 100_000


def excerpts(count: int, address: int) -> IssueFacts:
    """Return a digest with a picture in each post, and addresses of this length."""

    def address_of(number: int) -> str:
        return f"https://blog.example/{number:03}".ljust(address, "x")

    text = "<p>" + "Rain on the river. " * 20 + "</p>"
    return facts(
        *(
            entry(
                number,
                title=f"A title of some forty characters, {number:03}",
                link=address_of(number),
                content=f'<p><img src="{address_of(number)}.jpg" alt=""></p>{text}',
            )
            for number in range(count)
        ),
        content="excerpt",
    )


def test_fifty_excerpts_with_long_addresses_fit() -> None:
    html = html_of(render_issue(excerpts(50, address=80)))
    assert html.count('<h2 class="title"') == 50
    assert len(html.encode()) <= 85_000
    assert sum(map(len, re.findall(r' style="[^"]*"', html))) < len(html) / 3


def test_of_many_excerpts_as_many_as_fit_are_shown_and_the_others_listed() -> None:
    html = html_of(render_issue(excerpts(120, address=120)))
    assert 40 < html.count('<h2 class="title"') < 50
    assert 93_000 < len(html.encode()) <= 100_000
    assert all(f"https://blog.example/{number:03}x" in html for number in range(120))


@pytest.mark.slow
def test_a_letter_of_many_long_posts_is_nearly_full() -> None:
    posts = (entry(n, title="Rain " * 60, content="<p>x</p>" * 500) for n in range(60))
    assert 93_000 < len(html_of(render_issue(facts(*posts))).encode()) <= 100_000


def test_a_post_just_above_the_budget_loses_only_its_end() -> None:
    paragraph = "<p>" + "Rain on the river. " * 20 + "</p>"
    content = paragraph * (105_000 // len(paragraph))
    html = html_of(render_issue(one(entry(content=content))))
    assert html.count("Rain on the river. Rain") > 0.8 * content.count("Rain on the river. Rain")
