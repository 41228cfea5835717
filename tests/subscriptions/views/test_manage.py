"""The page of one subscription, and unsubscribing with an undo, by the links of letters."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.utils import timezone

from subscriptions import links
from subscriptions.models import FrequencyChange, Subscribable, Subscription
from subscriptions.subscribers.frequency import switch
from subscriptions.subscribers.leave import leave
from tests.factories import (
    AssignableFactory,
    AssignmentFactory,
    FeedFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def strict() -> Client:
    """Return a client with CSRF checks, as in production; links need no cookie."""
    return Client(enforce_csrf_checks=True)


@pytest.fixture
def weekly(daily: Subscribable) -> Subscribable:
    made: Subscribable = SubscribableFactory(
        name="weekly", title="The Weekly", arrangement="weekly", feeds=list(daily.feeds.all())
    )
    return made


@pytest.fixture
def daily() -> Subscribable:
    made: Subscribable = SubscribableFactory(
        name="daily", title="The Daily", arrangement="daily", feeds=[FeedFactory()]
    )
    return made


@pytest.fixture
def reader(daily: Subscribable) -> Subscription:
    made: Subscription = SubscriptionFactory(subscribable=daily)
    return made


def path(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def manage(subscription: Subscription) -> str:
    return path(links.manage_url(subscription))


def leaving(subscription: Subscription) -> str:
    return path(links.unsubscribe_url(subscription))


def posted(client: Client, url: str, **data: str) -> str:
    """Return the page after the redirect."""
    answer = client.post(url, data)
    assert answer.status_code == 302, answer.content.decode()
    return client.get(answer["Location"]).content.decode()


def test_one_click_switches_and_the_page_says_from_when(strict: Client, reader: Any, weekly: Any) -> None:
    page = strict.get(manage(reader)).content.decode()
    assert "The Weekly" in page
    assert "Every Monday at 0:00, UTC" in page
    page = posted(strict, manage(reader), act="switch", to="weekly")
    assert "from <strong>Monday" in page
    assert "Until then you still get The Daily" in page
    assert "or get one twice" in page
    assert Subscription.objects.get(subscribable=weekly).status == "confirmed"


def test_the_page_says_where_posts_may_come_twice(strict: Client, reader: Any, weekly: Any) -> None:
    Subscribable.objects.filter(pk=weekly.pk).update(at="18:00")
    assert "posts of the last issues twice" in posted(strict, manage(reader), act="switch", to="weekly")


def test_a_switch_can_be_taken_back_by_one_click(strict: Client, reader: Any, weekly: Any) -> None:
    posted(strict, manage(reader), act="switch", to="weekly")
    page = posted(strict, manage(reader), act="stay")
    assert "You still get The Daily" in page
    assert "Get this instead" in page
    assert not FrequencyChange.objects.exists()


def test_changing_now_says_what_it_costs_and_leads_to_the_new_page(
    strict: Client, reader: Any, weekly: Any
) -> None:
    AssignmentFactory(assignable=AssignableFactory(subscribable=weekly))
    page = posted(strict, manage(reader), act="switch", to="weekly")
    assert "you may get 1 post a second time" in page
    page = posted(strict, manage(reader), act="switch", to="weekly", when="now")
    assert "You now get The Weekly" in page
    assert "The Daily" in page
    assert FrequencyChange.objects.get().settled_at is not None


def test_an_old_letters_link_tells_of_the_change_but_opens_no_other_page(
    strict: Client, reader: Any, weekly: Any
) -> None:
    made = switch(subscription=reader, to=weekly, now=timezone.now(), at_once=True)
    page = strict.get(manage(reader)).content.decode()
    assert "You changed from The Daily" in page
    assert manage(made.new) not in page
    page = strict.get(leaving(reader)).content.decode()
    assert "Unsubscribe from The Weekly?" in page
    assert "You’re unsubscribed" in strict.post(leaving(reader)).content.decode()
    made.new.refresh_from_db()
    assert made.new.status == "unsubscribed"


def test_what_the_reader_has_besides_does_not_show(strict: Client, reader: Any, weekly: Any) -> None:
    SubscriptionFactory(subscribable=weekly, destination=reader.destination, display_name="Secret")
    answer = strict.post(manage(reader), {"act": "switch", "to": "weekly", "when": "now"})
    assert answer["Location"].startswith(links.manage_url(reader))
    assert "Secret" not in strict.get(answer["Location"]).content.decode()


def test_what_is_to_begin_says_when_and_offers_no_other_change(
    strict: Client, reader: Any, weekly: Any
) -> None:
    made = switch(subscription=reader, to=weekly, now=timezone.now())
    page = strict.get(manage(made.new)).content.decode()
    assert "Until then you still get The Daily" in page
    assert "Get this instead" not in page
    assert "Keep The Daily" not in page


@pytest.mark.parametrize("to", ["", "nobody", "hidden", "x" * 500, "daily"])
def test_a_newsletter_that_is_none_of_these_is_refused(
    strict: Client, reader: Any, daily: Subscribable, to: str
) -> None:
    SubscribableFactory(name="hidden", visibility="private", feeds=list(daily.feeds.all()))
    answer = strict.post(manage(reader), {"act": "switch", "to": to})
    assert answer.status_code == 400
    assert "no longer change to that newsletter" in answer.content.decode()
    assert Subscription.objects.count() == 1


@pytest.mark.parametrize("length", ["week", "fortnight", "month"])
def test_a_pause_is_one_click_and_so_is_its_end(strict: Client, reader: Any, length: str) -> None:
    page = posted(strict, manage(reader), act="pause", **{"for": length})
    assert "Paused until" in page
    assert "/s/daily/archive/" in page
    reader.refresh_from_db()
    assert timezone.now() + 6 * DAY < reader.paused_until < timezone.now() + 32 * DAY
    page = posted(strict, manage(reader), act="resume")
    assert "Your subscription is active again" in page
    assert "Paused until" not in page
    reader.refresh_from_db()
    assert reader.paused_until is None


def test_a_pause_until_a_day(strict: Client, reader: Any) -> None:
    day = (timezone.now() + 100 * DAY).date()
    assert "Paused until" in posted(strict, manage(reader), act="pause", until=day.isoformat())
    reader.refresh_from_db()
    assert reader.paused_until.date() == day


@pytest.mark.parametrize("until", ["", "tomorrow", "2020-01-01", "2999-01-01", "0000-00-00", "9" * 999])
def test_a_day_that_cannot_be_is_refused_with_the_reason(strict: Client, reader: Any, until: str) -> None:
    answer = strict.post(manage(reader), {"act": "pause", "until": until})
    assert answer.status_code == 400
    assert 'id="id_until_error"' in answer.content.decode()
    reader.refresh_from_db()
    assert reader.paused_until is None


def test_a_pause_that_is_over_does_not_show(strict: Client, reader: Any) -> None:
    Subscription.objects.update(paused_until=timezone.now() - DAY)
    assert "Paused until" not in strict.get(manage(reader)).content.decode()


def test_name_and_language(strict: Client, reader: Any) -> None:
    code = django_settings.LANGUAGES[-1][0]
    page = posted(strict, manage(reader), act="details", name="Ada", language=code)
    assert "Salvo." in page  # in the language just chosen
    assert f'value="{code}" selected' in page
    reader.refresh_from_db()
    assert (reader.display_name, reader.language) == ("Ada", code)
    posted(strict, manage(reader), act="details", name="Ada", language="")
    reader.refresh_from_db()
    assert reader.language == ""


def test_a_language_that_is_not_offered_is_refused_unless_it_is_the_one_they_have(
    strict: Client, reader: Any
) -> None:
    answer = strict.post(manage(reader), {"act": "details", "name": "Ada", "language": "tlh"})
    assert answer.status_code == 400
    Subscription.objects.update(language="tlh")
    assert "Saved." in posted(strict, manage(reader), act="details", name="Ada", language="tlh")


def test_what_cannot_be_done_is_not_logged_with_its_key(
    strict: Client, reader: Any, caplog: pytest.LogCaptureFixture
) -> None:
    there = manage(reader)
    assert strict.post(there, {"act": "switch", "to": "nobody"}).status_code == 400
    assert there not in caplog.text


@pytest.mark.parametrize("act", ["switch", "pause", "resume", "stay", "details", "what"])
def test_who_has_left_can_change_nothing_there(strict: Client, reader: Any, weekly: Any, act: str) -> None:
    leave(subscription=reader, now=timezone.now() - 2 * DAY)
    before = Subscription.objects.values().get()
    data = {"act": act, "to": "weekly", "for": "week", "name": "X"}
    assert strict.post(manage(reader), data).status_code == 400
    assert Subscription.objects.values().get() == before


def test_an_unconfirmed_subscription_offers_nothing_but_leaving(
    strict: Client, daily: Any, weekly: Any
) -> None:
    page = strict.get(manage(UnconfirmedFactory(subscribable=daily))).content.decode()
    assert "Not confirmed yet" in page
    assert "<form" not in page


def test_the_page_before_leaving_offers_less_often_and_a_pause(
    strict: Client, reader: Any, weekly: Any
) -> None:
    page = strict.get(leaving(reader)).content.decode()
    assert "Less often instead?" in page
    assert "Pause instead?" in page
    assert f'action="{links.manage_url(reader)}"' in page


def test_leaving_can_be_undone_by_one_post(strict: Client, reader: Any) -> None:
    page = strict.post(leaving(reader)).content.decode()
    assert "Undo: keep my subscription" in page
    assert "Undo: keep my subscription" in strict.get(manage(reader)).content.decode()
    page = posted(strict, leaving(reader), act="undo")
    assert "Welcome back" in page
    reader.refresh_from_db()
    assert (reader.status, reader.left_at) == ("confirmed", None)


def test_less_often_after_all(strict: Client, reader: Any, weekly: Any) -> None:
    page = strict.post(leaving(reader)).content.decode()
    assert "Less often instead?" in page
    page = posted(strict, leaving(reader), act="switch", to="weekly")
    assert "from <strong>Monday" in page
    reader.refresh_from_db()
    assert reader.status == "confirmed"


def test_a_pause_after_all(strict: Client, reader: Any) -> None:
    strict.post(leaving(reader))
    assert "Paused until" in posted(strict, leaving(reader), act="pause", **{"for": "month"})
    reader.refresh_from_db()
    assert reader.status == "confirmed"


def test_after_a_day_undoing_is_too_late_and_the_page_says_so(strict: Client, reader: Any) -> None:
    leave(subscription=reader, now=timezone.now() - 2 * DAY, by_reader=True)
    assert "Undo" not in strict.get(leaving(reader)).content.decode()
    answer = strict.post(leaving(reader), {"act": "undo"})
    assert answer.status_code == 400
    assert "too late" in answer.content.decode()
    reader.refresh_from_db()
    assert reader.status == "unsubscribed"


def test_one_click_leaves_whatever_else_it_says(strict: Client, reader: Any) -> None:
    body = {"List-Unsubscribe": "One-Click", "act": "undo"}
    assert strict.post(leaving(reader), body).status_code == 200
    reader.refresh_from_db()
    assert reader.status == "unsubscribed"


def test_one_click_with_cookies_of_anybody_is_the_same(strict: Client, reader: Any) -> None:
    strict.cookies["sessionid"], strict.cookies["csrftoken"] = "x", "y"
    assert strict.post(leaving(reader), {"List-Unsubscribe": "One-Click"}).status_code == 200
    reader.refresh_from_db()
    assert reader.status == "unsubscribed"


@pytest.mark.slow
def test_looking_changes_nothing(strict: Client, reader: Any, weekly: Any) -> None:
    """Scanners fetch every link of a letter, also with values they saw in a form."""
    switch(subscription=reader, to=weekly, now=timezone.now())
    before = list(Subscription.objects.values())
    for there in (manage(reader), leaving(reader)):
        for query in ("", "?act=undo", "?act=stay", "?act=pause&for=week", "?List-Unsubscribe=One-Click"):
            assert strict.get(there + query).status_code == strict.head(there + query).status_code == 200
    assert list(Subscription.objects.values()) == before


@pytest.mark.parametrize("act", ["switch", "pause", "stay", "details", "undo"])
def test_every_answer_keeps_its_address_to_itself(strict: Client, reader: Any, weekly: Any, act: str) -> None:
    data = {"act": act, "to": "weekly", "for": "week"}
    for there in (manage(reader), leaving(reader)):
        answer = strict.post(there, data)
        assert answer["Referrer-Policy"] == "no-referrer"
        assert answer["Cache-Control"] == "no-store"
        assert "noindex" in answer["X-Robots-Tag"]
        assert not answer.cookies


def test_words_in_the_address_are_not_shown(strict: Client, reader: Any) -> None:
    page = strict.get(manage(reader) + "?done=<b>You+have+won</b>").content.decode()
    assert "have won" not in page
    assert 'role="status"' not in page


def test_the_pages_speak_the_language_the_reader_chose(strict: Client, reader: Any) -> None:
    Subscription.objects.update(language="de-AT", paused_until=timezone.now() + 9 * DAY)
    for there in (manage(reader), leaving(reader)):
        assert '<html lang="de"' in strict.get(there, headers={"accept-language": "fr"}).content.decode()
    Subscription.objects.update(language="tlh")
    assert '<html lang="de"' not in strict.get(manage(reader)).content.decode()
