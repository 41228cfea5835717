"""Every admin page opens, with rows and without, and only for staff."""

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import get_resolver, reverse

from delivery.accounts.dkim_keys import make_key
from feedletter_site.admin_look import SETTINGS_CARDS
from tests.examples import some_now
from tests.factories import (
    NOW,
    AssignmentFactory,
    AttemptFactory,
    BounceFactory,
    BridgeFactory,
    DeliveryFactory,
    FeedFactory,
    ItemFactory,
    MailboxMessageFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    an_issue,
)

MENU = ["Overview", "Newsletters", "Subscribers", "Issues", "Feeds", "Bridges", "Reader", "Settings"]
pytestmark = pytest.mark.django_db
# Loads the admin.
_ = get_resolver().url_patterns
MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)


@pytest.fixture
def rows() -> None:
    """Create rows for every list."""
    FeedFactory(failures=2, last_error="The server answered with an error (HTTP 500).")
    for state in ("unassigned", "excluded", "cleared"):
        ItemFactory(state=state)
    AssignmentFactory()
    issue = an_issue()
    AttemptFactory(delivery=DeliveryFactory(issue=issue, state="failed", last_error="550 5.1.1 No such user"))
    MailboxMessageFactory()
    BounceFactory(held=True)
    BounceFactory(delivery=None, kind="unknown")
    SubscriptionFactory()
    SuppressionFactory()
    for _ in range(2):
        make_key(domain="example.org", algorithm="ed25519", now=NOW)


def address(model: Any, page: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_the_list_and_every_objects_page_answer(admin_client: Client, model: Any) -> None:
    assert admin_client.get(address(model, "changelist"), follow=True).status_code == 200
    for row in model._default_manager.all()[:5]:
        assert admin_client.get(address(model, "change", row.pk)).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("model", some_now(MODELS, every=4), ids=lambda model: model._meta.label)
def test_an_empty_list_answers(admin_client: Client, model: Any) -> None:
    assert admin_client.get(address(model, "changelist"), follow=True).status_code == 200


@pytest.mark.slow
def test_every_form_for_a_new_row_has_a_field(admin_client: Client) -> None:
    SubscribableFactory()
    request = admin_client.get(reverse("admin:index")).wsgi_request
    for model in MODELS:
        form = address(model, "add")
        answer = admin_client.get(form, follow=True)
        allowed = admin.site._registry[model].has_add_permission(request)
        assert answer.status_code == (200 if allowed else 403), model
        if allowed and not fields(answer):
            # A mail account's form follows the choice of a provider.
            links = BeautifulSoup(answer.content, "html.parser").select(f"a[href^='{form}?']")
            assert links, model
            assert all(fields(admin_client.get(str(link["href"]))) for link in links)


def fields(answer: Any) -> set[str]:
    """Return the names of the fields that a person sees."""
    seen = "#main form :is(input:not([type=hidden], [type=submit]), select, textarea)[name]"
    return {str(field["name"]) for field in BeautifulSoup(answer.content, "html.parser").select(seen)}


def test_a_user_who_is_added_can_sign_in_to_the_admin(admin_client: Client, client: Client) -> None:
    password = "correct horse battery staple"
    given = {
        "username": "bo",
        "email": "bo@example.org",
        "usable_password": "true",
        "password1": password,
        "password2": password,
        "is_staff": "on",
    }
    assert fields(admin_client.get(address(User, "add"))) == set(given)
    asked = admin_client.post(address(User, "add"), given)
    answer = admin_client.post(asked["Location"], {"password": "password"})
    assert answer["Location"] == address(User, "change", User.objects.get(username="bo").pk)
    client.post(reverse("account_login"), {"login": "bo", "password": password})
    assert client.get(reverse("admin:index")).status_code == 200


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_strangers_are_sent_to_the_login(client: Client, model: Any) -> None:
    answer = client.get(address(model, "changelist"))
    assert answer.status_code == 302
    assert "/admin/login/" in answer["Location"]


def test_the_first_page_offers_the_first_step(admin_client: Client) -> None:
    page = admin_client.get(reverse("admin:index")).content.decode()
    assert reverse("admin:feeds_feed_add") in page
    assert "Add a feed" in page


@pytest.mark.usefixtures("rows")
def test_the_first_page_says_what_needs_a_person(admin_client: Client) -> None:
    page = admin_client.get(reverse("admin:index")).content.decode()
    assert "can’t be read" in page


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
