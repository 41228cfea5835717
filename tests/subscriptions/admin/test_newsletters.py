"""The list of newsletters: the next issue, the result of the last one, and pauses.

A newsletter's page in tabs: each has a URL, shows only its part, and saves only that.
“Put it on your site” on a newsletter's admin page.
"""

import html
import re
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from delivery.customisation import set_theme
from delivery.models import Delivery
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import alter_subscribable
from tests.console import printed, refused
from tests.factories import (
    AssignableFactory,
    BridgeFactory,
    DeliveryFactory,
    FeedFactory,
    IssueFactory,
    SubscribableFactory,
    SubscriptionFactory,
)
from tests.site.test_admin_journey import text
from tests.subscriptions.admin.test_rules import form_of

TABS = ("overview", "issues", "subscribers", "look", "settings", "site")
pytestmark = pytest.mark.django_db
LIST = "admin:subscriptions_subscribable_changelist"


def listed(client: Client) -> str:
    return text(client.get(reverse(LIST)))


def an_issue(newsletter: Subscribable, states: dict[str, int], **fields: Any) -> None:
    issue = IssueFactory(subscribable=newsletter, published_at=utcnow() - timedelta(days=1), **fields)
    for state, count in states.items():
        DeliveryFactory.create_batch(count, issue=issue, state=state)


def test_the_last_issue_says_what_became_of_it(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    an_issue(newsletter, {"sent": 3, "failed": 2}, title="The day before")
    Delivery.objects.all().delete()
    an_issue(newsletter, {"sent": 115, "failed": 2}, title="Off we go")
    page = listed(admin_client)
    assert "Off we go" in page
    assert "115 sent, 2 failed" in page


def test_a_cancelled_one_and_a_paused_one_tell_the_truth(admin_client: Client) -> None:
    an_issue(SubscribableFactory(), {"sent": 1, "cancelled": 4}, cancelled_at=utcnow())
    an_issue(SubscribableFactory(sending_paused_at=utcnow()), {"sent": 2, "held": 3})
    page = listed(admin_client)
    assert "1 sent, 4 cancelled" in page
    assert "paused: 2 sent, 3 waiting" in page


def test_the_next_letter_has_its_date_in_its_own_zone(admin_client: Client) -> None:
    end = datetime(2031, 7, 4, 5, tzinfo=UTC)
    newsletter = SubscribableFactory(arrangement="weekly", time_zone="Europe/Berlin")
    AssignableFactory(subscribable=newsletter, period_start=end - timedelta(days=7), period_end=end)
    SubscribableFactory(stopped=True)
    SubscribableFactory()
    page = listed(admin_client).replace("\N{NO-BREAK SPACE}", " ")
    assert "Fri 4 Jul 2031, 7:00 (Berlin time)" in page
    assert "stopped" in page
    assert "with the next post" in page


def test_it_asks_no_question_for_each_row(admin_client: Client, django_assert_max_num_queries: Any) -> None:
    def add(count: int) -> None:
        for newsletter in SubscribableFactory.create_batch(count, arrangement="weekly"):
            SubscriptionFactory(subscribable=newsletter)
            an_issue(newsletter, {"sent": 1})

    add(2)
    with django_assert_max_num_queries(20) as few:
        listed(admin_client)
    add(8)
    with django_assert_max_num_queries(len(few.captured_queries)):
        listed(admin_client)


def test_it_can_be_sorted_by_the_number_of_subscribers(admin_client: Client) -> None:
    SubscriptionFactory.create_batch(2, subscribable=SubscribableFactory(title="Many"))
    SubscribableFactory(title="None")
    columns = admin_client.get(reverse(LIST)).context["cl"].list_display
    page = text(admin_client.get(f"{reverse(LIST)}?o=-{columns.index('subscribers')}"))
    assert page.index("Many<") < page.index("None<")


def test_what_is_sent_next_comes_first_and_what_has_stopped_last(admin_client: Client) -> None:
    for title, days in (("Late", 5), ("Soon", 2), ("Stopped", 1)):
        end = utcnow() + timedelta(days=days)
        row = SubscribableFactory(title=title, arrangement="weekly", stopped=title == "Stopped")
        AssignableFactory(subscribable=row, period_start=end - timedelta(days=7), period_end=end)
    SubscribableFactory(title="Each")
    rows = admin_client.get(reverse(LIST)).context["cl"].result_list
    assert [row.title for row in rows] == ["Soon", "Late", "Each", "Stopped"]


def test_each_newsletter_has_its_colour_and_its_picture(admin_client: Client) -> None:
    picture = "https://pictures.example/a.png?x=');color:red"
    set_theme(subscribable=SubscribableFactory(), accent="#1a5fb4", header_picture_url=picture)
    page = admin_client.get(reverse(LIST)).content.decode()
    assert "--fl-own: #1a5fb4" in page
    assert "https://pictures.example/a.png?x=%27%29%3Bcolor:red" in page


@pytest.fixture
def weekly() -> Subscribable:
    return SubscribableFactory(feeds=1, title="The weekly one", arrangement="weekly", weekday=2)


def url(newsletter: Subscribable, tab: str = "") -> str:
    page = reverse("admin:subscriptions_subscribable_change", args=[newsletter.pk])
    return f"{page}?tab={tab}" if tab else page


def panels(client: Client, newsletter: Subscribable, tab: str) -> list[str]:
    page = client.get(url(newsletter, tab)).content.decode()
    return re.findall(r'<section class="fl-panel[^"]*" id="[^"]+" aria-label="([^"]+)"', page)


@pytest.mark.slow
def test_every_panel_stands_in_one_tab(admin_client: Client, weekly: Subscribable) -> None:
    seen = [title for tab in TABS for title in panels(admin_client, weekly, tab)]
    assert len(seen) == len(set(seen))
    assert {"Schedule", "Issues", "Preview", "Put it on your site"} <= set(seen)


def test_the_first_tab_is_shown_unless_the_address_names_another(
    admin_client: Client, weekly: Subscribable
) -> None:
    first = panels(admin_client, weekly, "overview")
    assert panels(admin_client, weekly, "") == panels(admin_client, weekly, "none-such") == first
    page = admin_client.get(url(weekly, "look")).content.decode()
    assert re.findall(r'aria-current="page">([^<]+)</a>', page).count("Look") == 1


@pytest.mark.slow
def test_a_tab_without_a_form_offers_nothing_to_save(admin_client: Client, weekly: Subscribable) -> None:
    saves = {tab: 'name="_save"' in admin_client.get(url(weekly, tab)).content.decode() for tab in TABS}
    assert [tab for tab in TABS if saves[tab]] == ["look", "settings"]


def test_a_tab_saves_what_it_shows_and_leaves_the_rest(admin_client: Client, weekly: Subscribable) -> None:
    where = url(weekly, "look")
    data = form_of(admin_client.get(where))
    assert "title" not in data
    answer = admin_client.post(where, {**data, "language": "de", "_save": "1"})
    assert answer.status_code == 302, answer.context["errors"]
    assert answer.headers["Location"] == where
    weekly.refresh_from_db()
    assert (weekly.language, weekly.title, weekly.weekday) == ("de", "The weekly one", 2)
    where = url(weekly, "settings")
    data = form_of(admin_client.get(where))
    assert "language" not in data
    admin_client.post(where, {**data, "title": "Another title", "_save": "1"})
    weekly.refresh_from_db()
    assert (weekly.language, weekly.title) == ("de", "Another title")


@pytest.mark.slow
def test_several_weekdays_are_shown_as_they_were_chosen_and_changed(admin_client: Client) -> None:
    twice = SubscribableFactory(feeds=1, title="Twice", arrangement="cron", cron="0 7 * * 1,4")
    where = url(twice, "settings")
    data = form_of(admin_client.get(where))
    assert (data["arrangement"], data["at"], data["weekdays"]) == ("weekly", time(7), (0, 3))
    # Saving the form unchanged changes nothing.
    saved = {(0, 3): ("cron", "0 7 * * 1,4"), (1, 5): ("cron", "0 7 * * 2,6"), (4,): ("weekly", "")}
    for days, stored in saved.items():
        answer = admin_client.post(where, {**data, "weekdays": days, "_save": "1"})
        assert answer.status_code == 302, answer.context["errors"]
        twice.refresh_from_db()
        assert (twice.arrangement, twice.cron) == stored
    assert (twice.weekday, twice.at) == (4, time(7))


def page(client: Client, newsletter: Subscribable, tab: str = "site") -> str:
    where = reverse("admin:subscriptions_subscribable_change", args=[newsletter.pk]) + f"?tab={tab}"
    return client.get(where).content.decode()


def pasted(shown: str) -> list[str]:
    """Return the texts to be copied."""
    return [
        html.unescape(found)
        for found in re.findall(r'<pre class="fl-copy" tabindex[^>]*>(.*?)</pre>', shown, re.S)
    ]


def test_it_has_the_widget_the_form_and_the_link_ready_to_copy(admin_client: Client, settings: Any) -> None:
    settings.SITE_URL = "https://letters.example.org"
    made = SubscribableFactory(name="weekly", title="Tea & <Biscuits>", embed_hosts="blog.example.org")
    widget, form, back, link = pasted(page(admin_client, made))
    assert widget == (
        '<a href="https://letters.example.org/s/weekly/" data-feedletter>'
        "Subscribe to Tea &amp; &lt;Biscuits&gt;</a>\n"
        '<script async src="https://letters.example.org/static/feedletter/widget.js"></script>'
    )
    assert 'action="https://letters.example.org/s/weekly/subscribe/"' in form
    assert back == '<input type="hidden" name="return_to" value="https://blog.example.org/thanks/">'
    assert link.startswith('<a href="https://letters.example.org/s/weekly/">')


def test_what_is_pasted_signs_up(admin_client: Client, client: Client) -> None:
    made = SubscribableFactory(name="weekly", embed_hosts="blog.example.org")
    _, form, back, _ = pasted(page(admin_client, made))
    action = re.findall(r'action="https?://[^/]+([^"]+)"', form)[0]
    (name,) = re.findall(r'<input type="email" name="(\w+)"', form)
    (value,) = re.findall(r'name="return_to" value="([^"]+)"', back)
    answer = client.post(action, {name: "ada@example.org", "return_to": value})
    assert (answer.status_code, answer["Location"]) == (303, value)
    assert made.subscriptions.count() == 1


def test_it_says_what_to_set_first(admin_client: Client) -> None:
    made = SubscribableFactory(name="weekly")
    assert "Name your site first" in page(admin_client, made)
    Subscribable.objects.update(embed_hosts="blog.example.org")
    assert "Name your site first" not in page(admin_client, made)


def test_it_shows_the_form_as_readers_see_it(admin_client: Client) -> None:
    shown = page(admin_client, SubscribableFactory(name="weekly"))
    assert '<iframe class="fl-embed" src="/s/weekly/embed/"' in shown
    assert "feedletter/pasting.js" in shown


@pytest.mark.parametrize("facts", [{"visibility": "private"}, {"sign_up": "closed"}, {"stopped": True}])
def test_there_is_nothing_to_paste_where_nobody_signs_up(admin_client: Client, facts: dict[str, Any]) -> None:
    assert not pasted(page(admin_client, SubscribableFactory(**facts)))


def test_bridges_have_no_such_panel(admin_client: Client) -> None:
    assert "Put it on your site" not in page(admin_client, BridgeFactory())


def test_sites_are_tidied_when_they_are_saved() -> None:
    made = SubscribableFactory()
    altered = alter_subscribable(
        subscribable=made, embed_hosts="https://Blog.example.org/x\n\nbücher.example"
    )
    assert altered.embed_hosts == "blog.example.org\nxn--bcher-kva.example"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "kept"), [("https://Blog.example.org/", "blog.example.org"), ("a b", "")]
)
def test_the_form_keeps_sites_and_refuses_what_is_none(admin_client: Client, written: str, kept: str) -> None:
    made = SubscribableFactory(feeds=1)
    where = reverse("admin:subscriptions_subscribable_change", args=[made.pk]) + "?tab=settings"
    data = form_of(admin_client.get(where))
    answer = admin_client.post(where, {**data, "embed_hosts": written, "_continue": "1"}, follow=True)
    made.refresh_from_db()
    assert made.embed_hosts == kept
    assert ("is not a site" in answer.content.decode()) == (not kept)


@pytest.mark.slow
def test_a_command_names_the_sites_and_the_page_tells_that_command(admin_client: Client) -> None:
    feed = str(FeedFactory().pk)
    printed(
        "define_subscribable", "weekly", "--feed", feed, "--embed-host=a.example", "--embed-host=*.b.example"
    )
    made = Subscribable.objects.get()
    assert made.embed_hosts == "a.example\n*.b.example"
    assert "--embed-host=a.example" in page(admin_client, made, "settings")
    printed("alter_subscribable", "weekly", "--embed-host=")
    made.refresh_from_db()
    assert made.embed_hosts == ""


def test_a_command_refuses_what_is_no_site() -> None:
    SubscribableFactory(name="weekly")
    assert "“a b” is not a site" in refused("alter_subscribable", "weekly", "--embed-host", "a b")
