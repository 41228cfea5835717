"""A newsletter's page and its form.

The accent of a newsletter's pages.
"""

import re
import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from delivery.customisation import set_theme
from subscriptions.models import Notice, Subscription
from subscriptions.rules.colours import contrast
from subscriptions.views import pages as same_time
from tests.factories import (
    NOW,
    BridgeFactory,
    FeedFactory,
    IssueFactory,
    IssueItemFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
    an_entry,
    an_issue,
)

pytestmark = pytest.mark.django_db


def post(client: Client, **data: str) -> Any:
    return client.post("/s/weekly/", {"email": "ada@example.org", "name": "Ada", **data}, follow=True)


def test_the_page_says_what_it_is_and_how_often_it_comes(client: Client) -> None:
    SubscribableFactory(name="weekly", title="Example Weekly", arrangement="weekly", at="07:00")
    page = client.get("/s/weekly/").content.decode()
    assert "Example Weekly" in page
    assert "Words about machines." in page
    assert "Every Monday at 7:00, UTC" in page
    assert "Subscribe to Example Weekly" in page


def test_signing_up_says_check_your_mail_and_writes_the_confirmation() -> None:
    SubscribableFactory(name="weekly")
    strict = Client(enforce_csrf_checks=True, headers={"accept-language": "de"})
    answer = post(strict)
    assert answer.status_code == 200
    assert '<html lang="de"' in answer.content.decode()
    assert "<bdi>ada@example.org</bdi>" in answer.content.decode()
    # Reload and Back submit no form again; the page's URL reveals no address to proxies.
    assert answer.redirect_chain[0][1] == 303
    assert "ada" not in answer.redirect_chain[0][0]
    assert not answer.cookies
    notice = Notice.objects.get()
    assert (notice.template, notice.language) == ("confirmation", "de")
    assert Subscription.objects.get().asked_name == "Ada"


def test_the_answer_is_the_same_for_every_address(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    SubscriptionFactory(subscribable=letter, destination__core="confirmed@example.org")
    UnconfirmedFactory(subscribable=letter, destination__core="unconfirmed@example.org")
    LeftFactory(subscribable=letter, destination__core="left@example.org")
    SuppressionFactory(core="suppressed@example.org")
    pages = set()
    for who in ("new", "confirmed", "unconfirmed", "left", "suppressed", "confirmed"):
        answer = post(client, email=f"{who}@example.org")
        pages.add((answer.status_code, answer.content.decode().replace(who, "")))
    assert len(pages) == 1
    assert Notice.objects.count() == 4


def test_the_answer_takes_the_same_time_for_every_address(client: Client) -> None:
    SubscribableFactory(name="weekly")
    SuppressionFactory(core="suppressed@example.org")
    for who in ("new", "suppressed"):
        begun = time.monotonic()
        post(client, email=f"{who}@example.org")
        assert time.monotonic() - begun >= same_time.SECONDS


def test_a_program_that_fills_the_hidden_field_sees_the_same_page_and_does_nothing(client: Client) -> None:
    SubscribableFactory(name="weekly")
    human = post(client, email="a@example.org").content.decode()
    robot = post(client, email="b@example.org", website="http://spam.example").content.decode()
    assert human.replace("a@example.org", "") == robot.replace("b@example.org", "")
    assert Subscription.objects.count() == 1


@pytest.mark.parametrize(
    "email", ["", "ada", "ada@example.org\r\nBcc: x@y.example", "a" * 400 + "@example.org"]
)
def test_what_is_no_address_is_shown_with_the_reason(client: Client, email: str) -> None:
    SubscribableFactory(name="weekly")
    answer = post(client, email=email)
    assert answer.status_code == 400
    assert 'class="error"' in answer.content.decode()
    assert not Subscription.objects.exists()


@pytest.mark.parametrize("facts", [{"sign_up": "closed"}, {"stopped": True}])
def test_closed_sign_up_says_so_and_has_no_form(client: Client, facts: dict[str, Any]) -> None:
    SubscribableFactory(name="weekly", **facts)
    page = client.get("/s/weekly/").content.decode()
    assert "closed to new subscribers" in page
    assert "<form" not in page
    assert post(client).status_code == 403
    assert not Subscription.objects.exists()


def test_a_bridge_has_a_page_without_a_form(client: Client) -> None:
    BridgeFactory(name="weekly", sign_up="open")
    assert "<form" not in client.get("/s/weekly/").content.decode()


def test_a_private_newsletter_has_no_pages(client: Client) -> None:
    issue = an_issue(subscribable=SubscribableFactory(name="weekly", visibility="private"))
    paths = ["", "archive/", f"archive/{issue.pk}/", "feed.xml"]
    assert {client.get(f"/s/weekly/{path}").status_code for path in paths} == {404}
    assert post(client).status_code == 404
    assert not Subscription.objects.exists()


def test_an_unlisted_newsletter_is_not_indexed(client: Client) -> None:
    SubscribableFactory(name="weekly", visibility="unlisted")
    assert 'content="noindex"' in client.get("/s/weekly/").content.decode()


def test_the_latest_issue_is_on_the_page_the_unpublished_is_not(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    an_issue(subscribable=letter, title="Out now", posts=5)
    IssueFactory(subscribable=letter, title="Waits for approval", published_at=None, created_at=NOW)
    page = client.get("/s/weekly/").content.decode()
    assert "Out now" in page
    assert "Waits for approval" not in page
    assert "2 more posts" in page


def test_a_name_that_is_not_there_is_404(client: Client) -> None:
    assert client.get("/s/nope/").status_code == 404
    assert client.get("/s/" + "a" * 500 + "/").status_code == 404
    for path in ("", "archive/", "archive/1/", "feed.xml", "look.css"):
        assert client.get(f"/s/%00/{path}").status_code == 404


def test_the_latest_issue_stands_there_in_part_and_those_before_it_by_name(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    for number in range(8):
        issue = an_issue(
            subscribable=letter, title=f"Number {number}", published_at=NOW + timedelta(days=number)
        )
    IssueItemFactory(issue=issue, position=9, entry=an_entry(content="<p>" + "long " * 20_000).to_json())
    page = client.get("/s/weekly/").content.decode()
    assert [f"Number {number}" in page for number in range(8)] == [False] * 2 + [True] * 6
    assert len(page) < 30_000
    assert "Read the whole issue" in page


def test_siblings_over_the_same_feeds_are_offered(client: Client) -> None:
    feeds = FeedFactory.create_batch(2)
    SubscribableFactory(name="weekly", title="Weekly", feeds=feeds)
    SubscribableFactory(title="The same, daily", feeds=feeds, arrangement="daily")
    SubscribableFactory(title="Of one of them", feeds=feeds[:1])
    SubscribableFactory(title="Of more", feeds=[*feeds, FeedFactory()])
    SubscribableFactory(title="Hidden", feeds=feeds, visibility="unlisted")
    SubscribableFactory(title="Closed", feeds=feeds, sign_up="closed")
    BridgeFactory(title="Bridge", feeds=feeds)
    page = client.get("/s/weekly/").content.decode()
    assert "The same, daily" in page
    assert "Every day at 0:00, UTC" in page
    for title in ("Of one of them", "Of more", "Hidden", "Closed", "Bridge"):
        assert title not in page


def test_a_link_to_the_page_shows_what_it_is(client: Client, settings: Any) -> None:
    settings.SITE_URL = "https://letters.example.org"
    letter = SubscribableFactory(name="weekly", title="Tea & Cake", description="")
    set_theme(subscribable=letter, logo_url="https://letters.example.org/logo.png")
    page = client.get("/s/weekly/").content.decode()
    for name, content in (
        ('property="og:title"', "Tea &amp; Cake"),
        ('property="og:url"', "https://letters.example.org/s/weekly/"),
        ('property="og:type"', "website"),
        ('property="og:description"', "Each post as it appears"),
        ('property="og:image"', "https://letters.example.org/logo.png"),
        ('name="twitter:card"', "summary"),
    ):
        assert f'<meta {name} content="{content}">' in page
    assert '<link rel="canonical" href="https://letters.example.org/s/weekly/">' in page


@pytest.mark.parametrize(
    ("says", "heading"), [("Tea", 'alt="Tea"></h1>'), ("", "<h1><bdi>Tea &amp; Cake</bdi></h1>")]
)
def test_a_logo_that_says_the_name_stands_for_it(client: Client, says: str, heading: str) -> None:
    letter = SubscribableFactory(name="weekly", title="Tea & Cake")
    set_theme(subscribable=letter, logo_url="https://letters.example.org/logo.png", logo_alt=says)
    page = client.get("/s/weekly/").content.decode()
    assert heading in page.replace("\n", "")
    assert page.count("logo.png") == 3  # once each for links to the page and for search engines


def test_a_mistake_is_tied_to_its_field_and_takes_the_focus(client: Client) -> None:
    SubscribableFactory(name="weekly")
    page = post(client, email="ada@").content.decode()
    (field,) = re.findall(r"<input[^<>]*type=\"email\"[^<>]*>", page)
    for attribute in (
        'aria-invalid="true"',
        'aria-describedby="id_email_error"',
        "autofocus",
        'value="ada@"',
    ):
        assert attribute in field
    assert 'id="id_email_error"' in page
    assert "Please look again" in page


def test_the_answer_leads_to_the_mailbox_and_lets_the_address_be_corrected(client: Client) -> None:
    SubscribableFactory(name="weekly")
    page = post(client, email="ada@gmail.com").content.decode()
    assert 'href="https://mail.google.com/"' in page
    assert 'value="ada@gmail.com"' in page
    assert '<input type="hidden" name="name" value="Ada"' in page
    assert "Open Gmail" not in post(client, email="ada@example.org").content.decode()


def test_the_page_asks_the_database_a_few_times_however_much_there_is(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    feed = FeedFactory()
    letter = SubscribableFactory(name="weekly", feeds=[feed])
    SubscribableFactory.create_batch(5, feeds=[feed])
    for number in range(5):
        an_issue(subscribable=letter, posts=10, published_at=NOW + timedelta(days=number))
    with django_assert_max_num_queries(8):
        client.get("/s/weekly/")


def test_pages_wear_the_accent_made_readable(client: Client) -> None:
    newsletter = SubscribableFactory(name="valley")
    set_theme(subscribable=newsletter, accent="#ffd400")
    assert 'href="/s/valley/look.css"' in client.get("/s/valley/").content.decode()
    answer = client.get("/s/valley/look.css")
    assert answer.headers["Content-Type"].startswith("text/css")
    day, night = (
        dict(re.findall(r"--([\w-]+): (#\w+)", part)) for part in answer.content.decode().split("@media")
    )
    assert contrast(day["accent"], day["tint"]) >= 4.5
    assert contrast(night["accent"], night["tint"]) >= 4.5
    assert night["accent"] == "#ffd400"


def test_the_parameter_counts_where_no_theme_does_and_nonsense_never(client: Client) -> None:
    SubscribableFactory(name="one", params={"accent": "#7a3b9d"})
    SubscribableFactory(name="two", params={"accent": "red;}body{display:none"})
    SubscribableFactory(name="three")
    assert "#7a3b9d" in client.get("/s/one/look.css").content.decode()
    assert "display" not in client.get("/s/two/look.css").content.decode()
    assert client.get("/s/three/look.css").content == b""


def test_a_private_newsletter_has_no_pages_and_no_look(client: Client) -> None:
    SubscribableFactory(name="valley", visibility="private")
    assert client.get("/s/valley/look.css").status_code == 404


def test_a_background_of_its_own_gives_the_page_its_ground(client: Client) -> None:
    newsletter = SubscribableFactory(name="valley")
    set_theme(subscribable=newsletter, background="#f2e6c9")
    day, night = client.get("/s/valley/look.css").content.decode().split("@media")
    assert "--ground: #f2e6c9" in day
    assert "#f2e6c9" not in night
