import re
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.letter import LetterError
from delivery.rendering import subjects
from delivery.rendering.errors import UnknownTemplate
from delivery.rendering.facts import ThemeFacts
from delivery.rendering.mail import MAILS_BY_TEMPLATE, render_mail
from feeds.parsing.document import parse
from tests.delivery.rendering.samples import NOW, SITE, entry, facts, html_of, one, text_of

UPSTREAM = ThemeFacts(subject="{upstream}")
CONFIRM = f"{SITE}/confirm/abc/?x=1&y=2"
CONTEXT: dict[str, Any] = {
    "newsletter": "Rain & Sun",
    "confirm_url": CONFIRM,
    "hours": "48",
    "change_url": f"{SITE}/new-address/abc/",
    "undo_url": f"{SITE}/old-address/abc/",
    "days": "14",
    "sign_in_url": f"{SITE}/sign-in/abc/",
    "user_name": "ada",
    "reset_url": f"{SITE}/account/password-reset/1/y/",
    "invitation_url": f"{SITE}/reader/invitation/x/",
    "minutes": "30",
    "page_url": f"{SITE}/s/valley/",
    "site_url": SITE,
    "subject": "Blog 1 cannot be read",
    "address": "read+abc@in.example.org",
    "sentences": ["The server answered 404.", "Nothing was lost."],
}
LONG = "The server answered that it would rather not, and that it has said so before, more than once. " * 3


def context_of(template: str) -> dict[str, Any]:
    """Return the context, with newsletters as titles or with their manage links."""
    pairs = template == "already_several"
    return {**CONTEXT, "newsletters": [["Bees", f"{SITE}/manage/x/"]] if pairs else ["Bees", "Ants"]}


@pytest.mark.parametrize("template", MAILS_BY_TEMPLATE)
def test_every_mail_has_a_subject_and_two_parts(template: str) -> None:
    mail = render_mail(template, context_of(template))
    html, text = html_of(mail), text_of(mail)
    assert mail.subject
    assert "Rain &amp; Sun" in html
    assert text.endswith("\n")
    assert "&amp;" not in text
    assert "\n\n\n" not in text
    assert not any(token in html + text for token in mail.placeholders.values())
    assert "%" not in re.sub("<style.*?</style>", "", html, flags=re.DOTALL).replace("100%", "")


@pytest.mark.parametrize("template", MAILS_BY_TEMPLATE)
def test_every_mail_does_with_what_it_needs(template: str) -> None:
    context = context_of(template)
    needed = {name: context[name] for name in MAILS_BY_TEMPLATE[template].needs}
    render_mail(template, needed)
    for name in needed.keys() - {"newsletter"}:
        with pytest.raises(LetterError, match=name):
            render_mail(template, {key: value for key, value in needed.items() if key != name})


def test_the_confirmation_is_about_one_thing() -> None:
    mail = render_mail("confirmation", CONTEXT)
    html, text = html_of(mail), text_of(mail)
    assert mail.subject == "Confirm your subscription to Rain & Sun"
    links = set(re.findall(r'href="([^"]*)"', html))
    assert links == {CONFIRM.replace("&", "&amp;")}
    assert CONFIRM in text.splitlines()
    assert "48 hours" in html
    assert "48 hours" in text
    assert "ignore this email" in text


def test_the_confirmation_holds_nothing_that_a_stranger_chose() -> None:
    mail = render_mail("confirmation", {**CONTEXT, "name": "Buy pills", "email": "Buy pills"})
    assert mail.placeholders == {}
    assert "pills" not in mail.html + mail.text + mail.subject


def test_links_come_from_the_context_or_from_the_recipient() -> None:
    given = render_mail("already", {**CONTEXT, "manage_url": f"{SITE}/manage/xyz/?a&b"})
    assert f'href="{SITE}/manage/xyz/?a&amp;b"' in html_of(given)
    assert f"{SITE}/manage/xyz/?a&b" in text_of(given)
    assert f'href="{SITE}/manage/abc/"' in html_of(render_mail("already", CONTEXT))


def test_an_alert_is_a_subject_and_sentences() -> None:
    mail = render_mail("alert", CONTEXT)
    assert mail.subject == "Blog 1 cannot be read"
    assert "The server answered 404.\n\nNothing was lost.\n" in mail.text
    assert render_mail("alert", {**CONTEXT, "sentences": "One.\n\nTwo."}).html.count("<p") > 2


def test_nothing_in_a_context_is_markup_or_breaks_a_line() -> None:
    evil = "<script>x</script>\r\nBcc: all@example.org"
    for template in MAILS_BY_TEMPLATE:
        titles = [[evil, SITE]] if template == "already_several" else [evil]
        changed = {"newsletter": evil, "newsletters": titles, "subject": evil, "sentences": [evil]}
        mail = render_mail(template, {**CONTEXT, **changed})
        assert "<script" not in mail.html
        assert len(mail.subject.splitlines()) == 1


def test_templates_see_no_objects() -> None:
    with pytest.raises(LetterError, match="text and numbers only"):
        render_mail("alert", {**CONTEXT, "page_url": object()})  # type: ignore[dict-item]


def test_an_unknown_mail_is_refused() -> None:
    with pytest.raises(UnknownTemplate, match="There are: address_changed, alert, already, already_several"):
        render_mail("nonsense", CONTEXT)


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("template", MAILS_BY_TEMPLATE)
def test_the_lines_of_every_text_are_as_long_as_those_of_posts(template: str, language: str) -> None:
    """Words and links stay whole, and so do separate lines."""
    context = context_of(template) | {"sentences": [LONG, SITE + "/a" * 60], "lines": [LONG, "Short"]}
    text = text_of(render_mail(template, context, language=language))
    too_long = [line for line in text.splitlines() if len(line) > 72]
    assert [line for line in too_long if "://" not in line.split()[-1]] == []
    assert text.count("\n- ") == (2 if template == "alert" else 0)
    if template == "alert":
        assert SITE + "/a" * 60 in text.splitlines()
        assert "\n  " in text


@pytest.mark.parametrize("template", MAILS_BY_TEMPLATE)
def test_what_is_hidden_is_not_hidden_by_its_colour(template: str) -> None:
    """Spam filters penalize text in the background's colour (HTML_FONT_LOW_CONTRAST)."""
    html = html_of(render_mail(template, context_of(template)))
    (style,) = re.findall(r'<div class="preheader" style="([^"]*)"', html)
    assert "display: none" in style
    assert "color" not in style
    assert not re.search(r"\.preheader \{[^}]*color", html)


def titled(*titles: str, language: str = "en") -> str:
    posts = tuple(entry(number, title=title) for number, title in enumerate(titles))
    return subjects.title(posts, language)


def test_an_issue_of_one_post_has_its_title_whatever_the_arrangement() -> None:
    assert subjects.subject_line(one(entry(title="Rain"))) == "Rain"
    assert subjects.subject_line(facts(entry(title="Rain"))) == "Rain"
    assert titled("Rain") == "Rain"


@pytest.mark.parametrize(
    ("language", "two", "three"),
    [
        ("en", "Rain, and 1 more", "Rain, and 2 more"),
        ("en-GB", "Rain, and 1 more", "Rain, and 2 more"),
        ("de", "Rain und 1 weiterer", "Rain und 2 weitere"),
        ("fr", "Rain, et 1 autre", "Rain, et 2 autres"),
        ("es-MX", "Rain y 1 más", "Rain y 2 más"),
        ("pt-BR", "Rain e mais 1", "Rain e mais 2"),
        # Not translated: better no words than foreign ones.
        ("sv", "Rain + 1", "Rain + 2"),
        ("he", "Rain + 1", "Rain + 2"),
    ],
)
def test_an_issue_of_several_has_the_firsts_and_how_many_more(language: str, two: str, three: str) -> None:
    assert titled("Rain", "Sun", language=language) == two
    assert titled("Rain", "Sun", "Snow", language=language) == three


@pytest.mark.parametrize(
    ("title", "made"),
    [
        ("Why rain?", "Why rain? and 1 more"),
        ("It rained.", "It rained, and 1 more"),
        ("Made in the U.S.", "Made in the U.S., and 1 more"),
        ("And then…", "And then… and 1 more"),
        ("100%s %(count)d", "100%s %(count)d, and 1 more"),
        ("גשם", "גשם, and 1 more"),
        ("R&D <b>", "R&D <b>, and 1 more"),
    ],
)
def test_the_first_title_runs_on_into_the_count(title: str, made: str) -> None:
    assert titled(title, "Sun") == made


def test_long_titles_are_cut_at_a_word_and_the_count_stays() -> None:
    title = "lightning " * 40
    assert titled(title) == " ".join(["lightning"] * 20) + "…"
    assert titled(title, "Sun") == " ".join(["lightning"] * 10) + "… and 1 more"
    assert len(titled("x" * 500, "Sun")) < 120


def test_an_untitled_post_is_called_by_the_beginning_of_its_text() -> None:
    text = (
        "<p>Saw a <em>heron</em> &amp; its young</p><p>by the river, where the mill once stood and fell.</p>"
    )
    begins = "Saw a heron & its young by the river, where the mill once stood and…"
    assert subjects.subject_line(one(entry(title=" \n", content=text))) == begins
    assert subjects.title((entry(title="", content=text), entry()), "en") == f"{begins} and 1 more"
    assert (
        subjects.title((entry(title="", content='<img src="https://a.example/b.png">'),), "de")
        == "Beitrag ohne Titel"
    )


def test_entities_of_a_feeds_title_are_characters() -> None:
    item = b"<item><guid>1</guid><title>R&amp;amp;D &amp;ndash; &lt;i&gt;now&lt;/i&gt;</title></item>"
    document = b"<rss version='2.0'><channel><title>B</title>" + item + b"</channel></rss>"
    (post,) = parse(document, content_type="application/rss+xml", url="https://blog.example/feed").entries
    assert subjects.title((post,), "en") == "R&D – now"


def test_upstreams_subjects_are_a_pattern() -> None:
    assert (
        subjects.subject_line(one(entry(title="Rain"), theme=UPSTREAM))
        == "[The Valley Weekly] New Post: Rain"
    )
    assert (
        subjects.subject_line(one(entry(title=" "), theme=UPSTREAM))
        == "[The Valley Weekly] New Untitled Post"
    )
    assert (
        subjects.subject_line(one(entry(title="Rain"), newsletter="", theme=UPSTREAM))
        == "[valley] New Post: Rain"
    )


def test_a_daily_of_upstream_is_named_by_the_local_day_its_period_began() -> None:
    start = datetime(2026, 3, 1, 20, tzinfo=UTC)
    daily = facts(arrangement="daily", period_start=start, time_zone="Asia/Kolkata", theme=UPSTREAM)
    assert subjects.subject_line(daily) == "[The Valley Weekly] All posts, 2026-03-02"
    assert subjects.dateline(daily) == "2\xa0March\xa02026"


@pytest.mark.parametrize("arrangement", ["weekly", "monthly", "cron"])
def test_other_periods_of_upstream_are_named_by_the_days_of_their_posts(arrangement: str) -> None:
    usual = {"arrangement": arrangement, "theme": UPSTREAM}
    assert subjects.subject_line(facts(**usual)).endswith("] Posts, 2026-03-05 to 2026-03-07")
    assert subjects.subject_line(facts(entry(2), **usual)).endswith("] Posts from 2026-03-06")


def test_posts_without_dates_are_of_the_period_whose_end_is_not_in_it() -> None:
    start, end = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC)
    undated = facts(entry(published=None), period_start=start, period_end=end)
    assert subjects.dateline(undated) == "March\xa02–8,\xa02026"


def test_a_date_in_the_future_counts_as_today() -> None:
    assert subjects.dateline(facts(entry(published=NOW + timedelta(days=9000)))) == "March\xa08,\xa02026"


def test_every_n_of_upstream_is_named_by_its_count() -> None:
    several = {"arrangement": "every_n", "period_start": None, "period_end": None, "theme": UPSTREAM}
    assert subjects.subject_line(facts(**several)) == "[The Valley Weekly] 3 new items"
    assert subjects.subject_line(facts(entry(1), **several)) == "[The Valley Weekly] 1 new item"


@given(st.text(), st.text(), st.sampled_from(["", "{first}", "{upstream}", "{newsletter}: {title}"]))
def test_a_subject_is_one_bounded_line(title: str, name: str, pattern: str) -> None:
    theme = ThemeFacts(subject=pattern)
    for made in (one, facts):
        subject = subjects.subject_line(made(entry(title=title * 20), newsletter=name * 20, theme=theme))
        assert 0 < len(subject) <= 200
        assert len(subject.splitlines()) == 1
        assert not any(ord(character) < 32 or ord(character) == 127 for character in subject)


def patterned(pattern: str, title: str = "Rain") -> str:
    return subjects.subject_line(one(entry(title=title), theme=ThemeFacts(subject=pattern)))


def test_a_pattern_words_the_subject() -> None:
    assert patterned("{newsletter}: {title}") == "The Valley Weekly: Rain"
    assert patterned("Rain!") == "Rain!"
    weekly = facts(theme=ThemeFacts(subject="{count} posts, {date}: {first} / {title}"))
    assert subjects.subject_line(weekly) == ("3 posts, March 5–7, 2026: Post 1 / Post 1, and 2 more")


def test_what_a_title_has_in_braces_stays_text() -> None:
    assert patterned("{title}", "{newsletter} {nope}") == "{newsletter} {nope}"
    assert patterned("{title}", "a\r\nBcc: b") == "a Bcc: b"
    assert len(patterned("{title} {title}", "x" * 300)) == 200


def test_a_pattern_that_comes_to_nothing_is_the_usual_subject() -> None:
    assert patterned(" ") == "Rain"


@pytest.mark.parametrize(
    "pattern", ["", "Plain", "{newsletter}", "{title}{count} {date}", "{first} {upstream}"]
)
def test_patterns_of_what_there_is_are_taken(pattern: str) -> None:
    subjects.check_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["{Title}", "{0}", "{}", "{title.x}", "{title!r}", "{{title}}", "{title", "a } b"]
)
def test_other_patterns_are_refused_with_what_there_is(pattern: str) -> None:
    with pytest.raises(subjects.BadPattern, match=r"\{title\}, \{first\}, \{count\}, \{date\}"):
        subjects.check_pattern(pattern)


@given(st.text(alphabet="<>&;/ bistrong", max_size=60).map(lambda text: " ".join(f"x{text}".split())))
def test_a_title_that_was_escaped_is_the_subject_as_it_was_typed(text: str) -> None:
    written = escape(escape(text))
    item = f"<item><guid>1</guid><title>{written}</title></item>"
    body = f"<rss version='2.0'><channel><title>t</title>{item}</channel></rss>".encode()
    (post,) = parse(body, content_type="", url="https://blog.example/feed").entries
    assert subjects.subject_line(one(post)) == text
