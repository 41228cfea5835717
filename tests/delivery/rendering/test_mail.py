import re
from typing import Any

import pytest

from channels.letter import LetterError
from delivery.rendering.errors import UnknownTemplate
from delivery.rendering.mail import MAILS_BY_TEMPLATE, render_mail
from tests.delivery.rendering.samples import SITE, html_of, text_of

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
