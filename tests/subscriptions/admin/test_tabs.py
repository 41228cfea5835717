"""A newsletter's page in tabs: each has a URL, shows only its part, and saves only that."""

import re
from datetime import time

import pytest
from django.test import Client
from django.urls import reverse

from subscriptions.models import Subscribable
from tests.factories import SubscribableFactory
from tests.subscriptions.admin.test_rules import form_of

pytestmark = pytest.mark.django_db
TABS = ("overview", "issues", "subscribers", "look", "settings", "site")


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
