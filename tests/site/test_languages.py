"""Pages and mails use their reader's language; texts for the site's staff stay English."""

import re
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.utils import timezone, translation

from delivery.letters.pages import forget_pages
from delivery.rendering.facts import IssueFacts, ThemeFacts
from delivery.rendering.issue import render_issue
from delivery.rendering.mail import MAILS_BY_TEMPLATE, render_mail
from subscriptions import links
from subscriptions.models import Consent, Notice, Subscribable, Subscription
from subscriptions.newsletters.rhythm import in_words
from subscriptions.rules.schedule import Schedule
from subscriptions.subscribers.sign_in import ask_for_link, mail_links
from tests.examples import some_now
from tests.factories import (
    NOW,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
    an_entry,
    an_issue,
)

SPOKEN = ["de", "fr", "es", "pt"]
# English words that none of the four languages has.
ENGLISH = re.compile(r"\b(the|you|your|this|with|subscribe|newsletters? you|of|is|that)\b", re.IGNORECASE)
ARABIC = [("en", "English"), ("ar", "العربية")]
CONTEXT: dict[str, Any] = {
    "newsletter": "Labor",
    "newsletters": ["Labor"],
    "confirm_url": "https://x.example/c/",
    "hours": "48",
    "minutes": "30",
    "change_url": "https://x.example/c/",
    "undo_url": "https://x.example/u/",
    "days": "14",
    "sign_in_url": "https://x.example/s/",
    "user_name": "ada",
    "reset_url": "https://x.example/r/",
    "invitation_url": "https://x.example/i/",
    "page_url": "https://x.example/p/",
    "manage_url": "https://x.example/m/",
    "unsubscribe_url": "https://x.example/u/",
    # Of another site's list.
    "subject": "Abmelden",
    "address": "read+x@x.example",
}


@pytest.fixture(autouse=True)
def _no_page_at_hand() -> None:
    cache.clear()
    forget_pages()


@pytest.fixture
def newsletter(db: None) -> Subscribable:
    made: Subscribable = SubscribableFactory(
        name="lab", title="Labor", description="", arrangement="weekly", time_zone="America/New_York"
    )
    SubscribableFactory(name="tag", title="Tagwerk", description="", arrangement="daily")
    an_issue(subscribable=made, title="A1", posts=1)
    return made


def body(answer: Any) -> str:
    """Return the visible text, without markup and posts."""
    page = answer.content.decode()
    page = re.sub(r'<div class="text">.*?</div>', "", page, flags=re.DOTALL)
    return re.sub(r"<[^>]+>|\S+@\S+|https?:\S+", " ", page.partition("<body")[2])


def path(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def asked(client: Client, there: str, language: str) -> Any:
    return client.get(there, headers={"accept-language": language})


@pytest.mark.parametrize("language", some_now(SPOKEN))
@pytest.mark.parametrize(
    "there",
    some_now(["/", "/s/lab/", "/s/lab/archive/", "/s/lab/embed/", "/sign-in/", "/nothing/", "/mine/"]),
)
def test_a_page_speaks_what_the_browser_asks_for(
    client: Client, newsletter: Subscribable, there: str, language: str
) -> None:
    answer: Any = client.get(
        there, headers={"accept-language": f"{language}-XX,{language};q=0.9"}, follow=True
    )
    assert f'<html lang="{language}"' in answer.content.decode()
    assert answer["Content-Language"] == language
    assert "Accept-Language" in answer["Vary"]
    assert not answer.cookies
    assert not ENGLISH.search(body(answer)), body(answer)


@pytest.mark.parametrize("language", SPOKEN)
def test_an_issue_speaks_to_its_reader_around_the_posts(
    client: Client, newsletter: Subscribable, language: str
) -> None:
    issue = newsletter.issues.get()
    answer = asked(client, f"/s/lab/archive/{issue.pk}/", language)
    assert f'<html lang="{language}"' in answer.content.decode()
    assert not ENGLISH.search(body(answer)), body(answer)


@pytest.mark.parametrize(
    ("asks", "gets"), [("it,de;q=0.5", "de"), ("pt-BR", "pt-br"), ("pt-PT", "pt"), ("tlh", "en"), ("", "en")]
)
def test_the_nearest_language_there_is(
    client: Client, newsletter: Subscribable, asks: str, gets: str
) -> None:
    assert asked(client, "/s/lab/", asks)["Content-Language"] == gets


@pytest.mark.parametrize("language", SPOKEN)
def test_the_language_of_the_subscription_comes_before_the_browsers(
    client: Client, newsletter: Subscribable, language: str
) -> None:
    reader = SubscriptionFactory(subscribable=newsletter, language=language)
    waiting = UnconfirmedFactory(subscribable=newsletter, language=language)
    pages = [links.manage_url(reader), links.unsubscribe_url(reader)]
    pages.append(links.confirm_url(waiting, now=timezone.now()))
    for url in pages:
        answer = asked(client, path(url), "en")
        assert answer["Content-Language"] == language
        assert not ENGLISH.search(re.sub(r"As the newsletter|English", "", body(answer))), body(answer)


@pytest.mark.parametrize("language", SPOKEN)
def test_the_proof_of_consent_quotes_the_page_that_was_shown(
    client: Client, newsletter: Subscribable, language: str
) -> None:
    waiting = UnconfirmedFactory(subscribable=newsletter, language=language)
    client.post(path(links.confirm_url(waiting, now=timezone.now())), headers={"accept-language": "en"})
    with translation.override(language):
        assert Consent.objects.get(act="confirmed").words.endswith(translation.gettext("Confirm"))


def test_a_page_that_fails_speaks_to_its_reader_too(client: Client, newsletter: Subscribable) -> None:
    assert "Dieser Link ist unvollständig" in asked(client, "/manage/nonsense/", "de").content.decode()
    refused = client.post("/s/lab/", {"email": "nobody"}, headers={"accept-language": "de"})
    assert "Das sieht nicht nach einer E-Mail-Adresse aus" in refused.content.decode()


def test_one_request_leaves_nothing_behind_for_the_next(client: Client, newsletter: Subscribable) -> None:
    reader = SubscriptionFactory(subscribable=newsletter, language="de")
    client.get(path(links.manage_url(reader)))
    assert translation.get_language() == "en"


def test_admin_mailbox_and_api_stay_english(client: Client, newsletter: Subscribable) -> None:
    client.force_login(User.objects.create_superuser("ada"))
    for there in ("/admin/", "/admin/subscriptions/subscribable/", "/mailbox/", "/admin/nothing/"):
        answer = asked(client, there, "de")
        assert 'lang="en' in answer.content.decode(), there
        assert "Content-Language" not in answer
    refused = client.post("/api/v1/subscribables/lab/subscribe/", {}, headers={"accept-language": "de"})
    assert "This field is required." in refused.content.decode()


def test_what_is_signed_up_for_is_confirmed_in_the_language_of_the_browser(
    client: Client, newsletter: Subscribable
) -> None:
    client.post("/s/lab/", {"email": "a@x.example"}, headers={"accept-language": "pt-BR,pt;q=0.8"})
    assert (Subscription.objects.get().language, Notice.objects.get().language) == ("pt-br", "pt-br")


def test_a_sign_in_link_follows_the_reader(newsletter: Subscribable) -> None:
    reader = SubscriptionFactory(subscribable=newsletter, language="es")
    ask_for_link(email=reader.destination.label, ip="192.0.2.1", now=NOW, language="fr")
    mail_links(now=NOW)
    assert Notice.objects.get().language == "es"


@pytest.mark.parametrize("language", SPOKEN)
@pytest.mark.parametrize("template", sorted(set(MAILS_BY_TEMPLATE) - {"alert"}))
def test_mails_speak_their_language(template: str, language: str) -> None:
    context: dict[str, Any] = dict(CONTEXT)
    if template == "already_several":
        context["newsletters"] = [["Labor", "https://x.example/m/"]]
    mail = render_mail(template, context, language=language)
    assert f'lang="{language}"' in mail.html
    for words in (
        mail.subject,
        mail.text,
        re.sub(r"<style.*?</style>|<[^>]+>", " ", mail.html, flags=re.DOTALL),
    ):
        assert not ENGLISH.search(words), words


def test_titles_of_confirmations() -> None:
    subjects = {one: render_mail("confirmation", CONTEXT, language=one).subject for one in SPOKEN}
    assert subjects == {
        "de": "Bitte bestätigen Sie Ihr Abo: Labor",
        "fr": "Confirmez votre abonnement à Labor",
        "es": "Confirme su suscripción a Labor",
        "pt": "Confirme a sua subscrição de Labor",
    }


@pytest.mark.parametrize(
    ("language", "day"),
    [
        ("de", "1. März 2026"),
        ("fr", "1er mars 2026"),
        ("es", "1 de marzo de 2026"),
        ("pt", "1 de março de 2026"),
    ],
)
def test_a_letter_and_its_foot_speak_the_newsletters_language(language: str, day: str) -> None:
    facts = IssueFacts(
        name="labor",
        newsletter="Labor",
        language=language,
        arrangement="daily",
        now=NOW,
        period_start=NOW.replace(day=1, hour=0),
        period_end=NOW.replace(hour=0),
        entries=(an_entry(title="A", content="<p>B</p>"), an_entry(2, title="C", content="<p>D</p>")),
    )
    letter = render_issue(facts)
    assert day in letter.text.replace("\xa0", " ")
    assert not ENGLISH.search(re.sub(r"Post \d|%\w+%|https?:\S+", "", letter.text)), letter.text
    # Upstream's subject is a pattern, whose dates are formatted for English only.
    facts = replace(facts, theme=ThemeFacts(subject="{upstream}"))
    assert "2026-03-01" not in render_issue(facts).subject
    assert "2026-03-01" in render_issue(replace(facts, language="en")).subject


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", "Am 22. jedes Monats um 07:00 Uhr, Ortszeit New York"),
        ("fr", "Le 22 de chaque mois à 07:00, heure locale (New York)"),
        ("es", "El día 22 de cada mes (07:00, hora de Nueva York)"),
        ("pt", "No dia 22 de cada mês (07:00, hora de Nova Iorque)"),
    ],
)
def test_the_rhythm_is_a_sentence_of_its_language(language: str, words: str) -> None:
    with translation.override(language):
        schedule = Schedule("monthly", at=NOW.time().replace(hour=7), day_of_month=22)
        assert in_words(schedule, None, ZoneInfo("America/New_York")) == words


def test_a_language_that_runs_from_right_to_left_turns_the_pages(
    client: Client, newsletter: Subscribable, settings: Any
) -> None:
    settings.LANGUAGES = ARABIC
    reader = SubscriptionFactory(subscribable=newsletter, language="ar")
    issue = newsletter.issues.get()
    for there in (
        "/",
        "/s/lab/",
        "/s/lab/embed/",
        f"/s/lab/archive/{issue.pk}/",
        path(links.manage_url(reader)),
    ):
        assert '<html lang="ar" dir="rtl">' in asked(client, there, "ar").content.decode(), there
