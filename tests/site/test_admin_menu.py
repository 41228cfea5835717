from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import Permission, User
from django.test import Client

from feedletter_site.admin_look import SETTINGS_CARDS
from tests.factories import BridgeFactory, SubscribableFactory

pytestmark = pytest.mark.django_db

MENU = ["Overview", "Newsletters", "Subscribers", "Issues", "Feeds", "Bridges", "Reader", "Settings"]


def read(client: Client, url: str) -> BeautifulSoup:
    response = client.get(url)
    assert response.status_code == 200
    return BeautifulSoup(response.content, "html.parser")


def words(links: list[Any]) -> list[str]:
    return [" ".join(link.get_text(" ").split()) for link in links]


def viewer(*models: str) -> Client:
    user = User.objects.create_user("viewer", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=[f"view_{name}" for name in models]))
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.needs("reader")
def test_the_menu_has_eight_entries(admin_client: Client) -> None:
    entries = read(admin_client, "/admin/").select("#nav-sidebar-apps a")
    # Each begins with the name of its icon.
    assert [words_of_entry.partition(" ")[2] for words_of_entry in words(entries)] == MENU


def test_an_entry_leads_to_the_first_of_its_pages_that_the_user_may_see() -> None:
    page = read(viewer("item"), "/admin/")
    assert page.select_one('#nav-sidebar a[href="/admin/feeds/item/"]')
    assert not page.select_one('#nav-sidebar a[href="/admin/feeds/feed/"]')
    assert not page.select_one('#nav-sidebar a[href="/admin/settings/"]')


@pytest.mark.parametrize(
    ("path", "tab", "beside"),
    [
        ("subscriptions/destination", "Subscribers", ["Subscribers", "Tags"]),
        ("subscriptions/subscribertag", "Subscribers", ["Subscribers", "Tags"]),
        ("subscriptions/subscription", "Subscriptions", []),
        ("subscriptions/listimport", "Imports", []),
        ("subscriptions/suppression", "Problems", ["Do not email", "Bounces"]),
        ("delivery/bounce", "Problems", ["Do not email", "Bounces"]),
    ],
)
def test_the_pages_of_an_entry_are_tabs_of_each_other(
    admin_client: Client, path: str, tab: str, beside: list[str]
) -> None:
    page = read(admin_client, f"/admin/{path}/")
    tabs = page.select("#tabs-items > a")
    assert words(tabs) == ["Subscribers", "Subscriptions", "Imports", "Problems"]
    assert words([each for each in tabs if "active" in each["class"]]) == [tab]
    assert words(page.select("nav.fl-tabs a")) == beside
    current = page.select("nav.fl-tabs [aria-current]")
    assert [link["href"] for link in current] == [f"/admin/{path}/"] * bool(beside)
    assert words(page.select("#nav-sidebar-apps a.active")) == ["group Subscribers"]


def test_who_may_see_one_of_two_lists_of_a_tab_gets_there_without_a_choice() -> None:
    page = read(viewer("bounce", "destination"), "/admin/subscriptions/destination/")
    tabs = page.select("#tabs-items > a")
    assert [(tab.get_text().strip(), tab["href"]) for tab in tabs][1:] == [
        ("Problems", "/admin/delivery/bounce/")
    ]
    assert not page.select("nav.fl-tabs")


def test_a_tab_is_shown_only_to_who_may_see_its_page() -> None:
    tabs = read(viewer("feed", "item"), "/admin/feeds/feed/").select("#tabs-items > a")
    assert words(tabs) == ["Feeds", "Posts"]


@pytest.mark.parametrize("what", ["newsletters", "bridges"])
def test_bridges_are_listed_apart_from_newsletters(admin_client: Client, what: str) -> None:
    rows = {"newsletters": SubscribableFactory(title="A letter"), "bridges": BridgeFactory(title="A bridge")}
    page = read(admin_client, f"/admin/subscriptions/subscribable/?what={what}")
    assert words(page.select("#result_list tbody th a")) == [rows[what].title]
    heads = {"newsletters": {"Newsletter", "Subscribers"}, "bridges": {"Bridge", "Accounts"}}
    assert set().union(*heads.values()) & set(words(page.select("#result_list thead th"))) == heads[what]
    current = page.select("#nav-sidebar-apps a.active")
    assert [link["href"] for link in current] == [f"/admin/subscriptions/subscribable/?what={what}"]


@pytest.mark.parametrize(
    ("what", "title", "button"),
    [("newsletters", "Newsletters", "Create a newsletter"), ("bridges", "Bridges", "Add a bridge")],
)
def test_an_entry_without_rows_says_what_to_do_next(
    admin_client: Client, what: str, title: str, button: str
) -> None:
    page = read(admin_client, f"/admin/subscriptions/subscribable/?what={what}")
    assert words(page.select("h1")) == [title]
    assert page.find("a", string=button)
    assert "show all" not in page.get_text()


def test_a_search_among_bridges_leads_back_to_all_bridges(admin_client: Client) -> None:
    BridgeFactory()
    page = read(admin_client, "/admin/subscriptions/subscribable/?what=bridges&q=nothing-like-it")
    back = page.find("a", string="Show all bridges")
    assert back is not None
    assert back["href"] == "?what=bridges"


@pytest.mark.needs("chat")
def test_the_settings_page_leads_to_everything_else(admin_client: Client) -> None:
    page = read(admin_client, "/admin/settings/")
    assert words(page.select("#content h2")) == [card["title"] for card in SETTINGS_CARDS]
    for link in page.select("#content-main li a"):
        assert admin_client.get(str(link["href"]), follow=True).status_code == 200


def test_the_settings_page_is_closed_to_who_may_see_none_of_it() -> None:
    assert viewer("feed").get("/admin/settings/").status_code == 403
