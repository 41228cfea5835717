"""The pages behind a link: GET shows, POST acts, and their headers.

Confirmation pages: of one newsletter, of several, and with a first issue to read.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from subscriptions import links
from subscriptions.models import Subscription
from subscriptions.subscribers.leave import reasons_for_leaving, undo_leaving
from tests.factories import DestinationFactory, LeftFactory, SubscriptionFactory, UnconfirmedFactory, an_issue

pytestmark = pytest.mark.django_db


def path(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def confirm_path(subscription: Subscription, **facts: Any) -> str:
    return path(links.confirm_url(subscription, **{"now": timezone.now(), **facts}))


@pytest.fixture
def strict() -> Client:
    """Return a client with CSRF checks, as in production."""
    return Client(enforce_csrf_checks=True)


def test_confirming_takes_a_post(strict: Client) -> None:
    subscription = UnconfirmedFactory(subscribable__title="Example Weekly")
    shown = strict.get(confirm_path(subscription))
    assert shown.status_code == 200
    assert "Example Weekly" in shown.content.decode()
    subscription.refresh_from_db()
    assert subscription.status == "unconfirmed"
    done = strict.post(confirm_path(subscription), follow=True)
    assert done.status_code == 200
    assert "You’re subscribed" in done.content.decode()
    subscription.refresh_from_db()
    assert (subscription.status, subscription.display_name) == ("confirmed", "Ada")


def test_a_second_tap_on_confirm_says_the_same(strict: Client) -> None:
    subscription = UnconfirmedFactory()
    there = confirm_path(subscription)
    first, second = strict.post(there, follow=True), strict.post(there, follow=True)
    assert first.status_code == second.status_code == 200
    assert first.content == second.content
    assert "You’re subscribed" in strict.get(there).content.decode()


def test_an_expired_confirmation_says_so_and_offers_the_form(client: Client) -> None:
    subscription = UnconfirmedFactory(subscribable__name="weekly")
    old = confirm_path(subscription, now=timezone.now() - timedelta(hours=48, seconds=1))
    answer = client.post(old)
    assert answer.status_code == 400
    assert "48 hours" in answer.content.decode()
    assert "/s/weekly/" in answer.content.decode()
    subscription.refresh_from_db()
    assert subscription.status == "unconfirmed"


def test_leaving_takes_a_post(strict: Client) -> None:
    subscription = SubscriptionFactory()
    there = path(links.unsubscribe_url(subscription))
    assert strict.get(there).status_code == 200
    subscription.refresh_from_db()
    assert subscription.status == "confirmed"
    assert "You’re unsubscribed" in strict.post(there).content.decode()
    subscription.refresh_from_db()
    assert subscription.status == "unsubscribed"


def test_one_click_is_a_bare_post_without_cookies(strict: Client) -> None:
    """RFC 8058 §3.2: no cookie, no referrer, that body; and mail clients may retry."""
    subscription = SubscriptionFactory()
    there = path(links.unsubscribe_url(subscription))
    body, sort = "List-Unsubscribe=One-Click", "application/x-www-form-urlencoded"
    answers = [strict.post(there, body, content_type=sort) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert not strict.cookies
    subscription.refresh_from_db()
    assert subscription.status == "unsubscribed"


def test_one_click_may_come_as_a_multipart_form(strict: Client) -> None:
    subscription = SubscriptionFactory()
    there = path(links.unsubscribe_url(subscription))
    assert strict.post(there, {"List-Unsubscribe": "One-Click"}).status_code == 200
    subscription.refresh_from_db()
    assert subscription.status == "unsubscribed"


def test_one_click_works_after_secret_key_changed(client: Client, settings: Any) -> None:
    subscription = SubscriptionFactory()
    there = path(links.unsubscribe_url(subscription))
    settings.SECRET_KEY = "another" * 10
    settings.SECRET_KEY_FALLBACKS = []
    assert client.post(there).status_code == 200
    subscription.refresh_from_db()
    assert subscription.status == "unsubscribed"


def test_leaving_works_for_a_private_newsletter_and_names_no_page(client: Client) -> None:
    subscription = SubscriptionFactory(subscribable__visibility="private", subscribable__name="hidden")
    answer = client.post(path(links.unsubscribe_url(subscription)))
    assert answer.status_code == 200
    assert "/s/hidden/" not in answer.content.decode()


def test_managing_changes_the_name_and_comes_back(strict: Client) -> None:
    subscription = SubscriptionFactory(display_name="Old")
    there = path(links.manage_url(subscription))
    answer = strict.post(there, {"name": " New  Name "})
    assert answer.status_code == 302
    assert "Saved." in strict.get(answer["Location"]).content.decode()
    subscription.refresh_from_db()
    assert subscription.display_name == "New Name"


def test_a_name_that_is_too_long_is_refused_with_the_reason(client: Client) -> None:
    subscription = SubscriptionFactory(display_name="Old")
    answer = client.post(path(links.manage_url(subscription)), {"name": "a" * 101})
    assert answer.status_code == 400
    assert "100" in answer.content.decode()
    subscription.refresh_from_db()
    assert subscription.display_name == "Old"


def test_a_link_opens_its_own_subscription_only(client: Client) -> None:
    """Letters get forwarded: nothing else of that address may show."""
    mine = SubscriptionFactory(subscribable__title="Mine")
    SubscriptionFactory(destination=mine.destination, subscribable__title="Also Theirs")
    assert "Also Theirs" not in client.get(path(links.manage_url(mine))).content.decode()


def test_managing_after_leaving_says_when_and_offers_the_way_back(client: Client) -> None:
    left = LeftFactory(subscribable__name="weekly")
    page = client.get(path(links.manage_url(left))).content.decode()
    assert "You unsubscribed on" in page
    assert "/s/weekly/" in page
    assert "<form" not in page


def test_a_name_is_escaped(client: Client) -> None:
    subscription = SubscriptionFactory(display_name='"><script>alert(1)</script>')
    assert "<script" not in client.get(path(links.manage_url(subscription))).content.decode()


@pytest.mark.parametrize("kind", ["confirm", "unsubscribe", "manage"])
@pytest.mark.parametrize("token", ["x", "1-" + "0" * 32, "9" * 40, "a.b", "1-" + "é" * 32])
def test_a_wrong_token_gets_a_friendly_page_and_is_not_logged(
    client: Client, caplog: pytest.LogCaptureFixture, kind: str, token: str
) -> None:
    for answer in (client.get(f"/{kind}/{token}/"), client.post(f"/{kind}/{token}/")):
        assert answer.status_code == 400
        assert "This link doesn’t work" in answer.content.decode()
    assert token not in caplog.text


def test_a_token_of_one_purpose_does_not_open_another_page(client: Client) -> None:
    subscription = SubscriptionFactory()
    token = path(links.manage_url(subscription)).split("/")[2]
    assert client.post(f"/unsubscribe/{token}/").status_code == 400
    subscription.refresh_from_db()
    assert subscription.status == "confirmed"


def test_token_pages_keep_their_address_to_themselves(client: Client) -> None:
    waiting = UnconfirmedFactory()
    pages = [confirm_path(waiting), path(links.unsubscribe_url(waiting)), path(links.manage_url(waiting))]
    for there in [*pages, "/manage/wrong/"]:
        for answer in (client.get(there), client.head(there), client.post(there, {"name": "Ada"})):
            assert answer["Referrer-Policy"] == "no-referrer"
            assert answer["Cache-Control"] == "no-store"
            assert "noindex" in answer["X-Robots-Tag"]
            assert "default-src 'none'" in answer["Content-Security-Policy"]
            assert not answer.cookies


def test_other_methods_are_refused(client: Client) -> None:
    there = path(links.unsubscribe_url(SubscriptionFactory()))
    assert {client.put(there).status_code, client.delete(there).status_code} == {405}


def test_a_reader_who_leaves_by_the_page_may_say_why_and_a_mail_client_gets_no_redirect() -> None:
    row = SubscriptionFactory()
    there = path(links.unsubscribe_url(row))
    assert Client().post(there, {"List-Unsubscribe": "One-Click", "act": "leave"}).status_code == 200
    undo_leaving(subscription=row, now=timezone.now())
    client = Client()
    answer = client.post(there, {"act": "leave"})
    assert (answer.status_code, answer["Location"]) == (303, there)
    assert "Why did you unsubscribe?" in client.get(there).content.decode()
    assert client.post(there, {"act": "why", "why": "nonsense"}).status_code == 303
    thanks = client.post(there, {"act": "why", "why": "too_often"}, follow=True).content.decode()
    assert "Thank you, that helps." in thanks
    assert "Why did you unsubscribe?" not in thanks
    assert reasons_for_leaving(row.subscribable) == {"too_often": 1}
    client.post(there, {"act": "undo"})
    assert reasons_for_leaving(row.subscribable) == {}


def confirm_all_path(*waiting: Subscription) -> str:
    return "/" + links.confirm_url(*waiting, now=timezone.now()).split("/", 3)[3]


def test_several_are_named_and_confirmed_together(client: Client) -> None:
    reader = DestinationFactory()
    waiting = [UnconfirmedFactory(destination=reader, subscribable__title=title) for title in ("One", "Two")]
    there = confirm_all_path(*waiting)
    shown = client.get(there).content.decode()
    assert "One" in shown
    assert "Two" in shown
    done = client.post(there, follow=True).content.decode()
    assert done.count("/manage/") == 2
    assert set(Subscription.objects.values_list("status", flat=True)) == {"confirmed"}


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_the_latest_issue_can_be_read_at_once(client: Client, visibility: str) -> None:
    waiting = UnconfirmedFactory(subscribable__welcome="latest", subscribable__visibility=visibility)
    issue = an_issue(subscribable=waiting.subscribable, title="The first issue", posts=2)
    page = client.post(confirm_all_path(waiting), follow=True).content.decode()
    assert "The first issue" in page
    assert page.count("The text of post") == 2
    assert (f"/archive/{issue.pk}/" in page) == (visibility == "public")


def test_the_page_says_what_comes_when_and_a_reload_sends_nothing_again(client: Client) -> None:
    waiting = UnconfirmedFactory(subscribable__arrangement="weekly", subscribable__weekday=0)
    an_issue(subscribable=waiting.subscribable, title="The first issue")
    answer: Any = client.post(confirm_all_path(waiting), follow=True)
    assert [code for _, code in answer.redirect_chain] == [303]
    page = answer.content.decode()
    assert "You’re subscribed" in page
    assert "The first issue" in page
    assert "You’ll get the next issue on <strong>Monday, " in page


def test_a_newsletter_without_issues_welcomes_all_the_same(client: Client) -> None:
    waiting = UnconfirmedFactory(subscribable__welcome="latest")
    answer: Any = client.post(confirm_all_path(waiting), follow=True)
    assert answer.status_code == 200
    assert "The latest issue" not in answer.content.decode()
