"""All admin pages: one name for a thing, filters with matches, and empty lists with a next step."""

import re
from collections import Counter
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import get_resolver, reverse
from django.utils.text import capfirst
from django_celery_beat.models import PeriodicTask

from common.admin import lists
from common.admin.page_words import PageWords
from delivery.models import Account, Restore
from feedletter_site.admin_look import MENU, SETTINGS_CARDS
from subscriptions.models import Destination, SiteSettings, Subscription, Suppression
from subscriptions.subscribers.tags import tag_people
from tests.examples import some_now
from tests.factories import (
    NOW,
    AssignmentFactory,
    AttemptFactory,
    BounceFactory,
    DeliveryFactory,
    DestinationFactory,
    FeedFactory,
    ItemFactory,
    LeftFactory,
    SubscriptionFactory,
    SuppressionFactory,
    an_issue,
)

pytestmark = [pytest.mark.django_db]

# Loads the admin.
_ = get_resolver().url_patterns
MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)
# Those two have no list.
LISTED = [model for model in MODELS if model not in (SiteSettings, Restore)]
# Names in the code, for which pages say newsletter, subscriber, address, next issue, post and “Do not email”.
OF_THE_CODE = re.compile(
    r"\b(subscribables?|destinations?|assignables?|assignments?|suppressions?|items?|themes?"
    r"|periodic tasks?|no results|yielded)\b",
    re.IGNORECASE,
)


def label(model: Any) -> str:
    return str(model._meta.label)


@pytest.fixture
def rows() -> None:
    """Create rows for every list on the way of a post."""
    FeedFactory(failures=2, last_error="The server answered with an error (HTTP 500).")
    ItemFactory(state="excluded")
    AssignmentFactory()
    AttemptFactory(delivery=DeliveryFactory(issue=an_issue(), state="failed", last_error="550 No such user"))
    BounceFactory(held=True)
    LeftFactory()
    SubscriptionFactory(destination=DestinationFactory(disabled_at=NOW, disabled_reason="No such user"))
    SuppressionFactory()


def address(model: Any, page: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def read(client: Client, url: str) -> BeautifulSoup:
    page = BeautifulSoup(client.get(url, follow=True).content, "html.parser")
    # The names of permissions are Django's own.
    for unread in page.select("script, style, template, #id_permissions, #id_user_permissions"):
        unread.decompose()
    return page


def words_of(page: BeautifulSoup) -> str:
    """Return all text of the page, including labels and titles."""
    told = [
        str(tag[name]) for name in ("title", "aria-label", "placeholder") for tag in page.select(f"[{name}]")
    ]
    return " ".join([page.get_text(" "), *told])


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("model", some_now(MODELS, every=4), ids=label)
def test_no_page_speaks_as_the_code_does(admin_client: Client, model: Any) -> None:
    urls = [address(model, "changelist"), address(model, "add")]
    urls += [address(model, "change", row.pk) for row in model._default_manager.all()[:2]]
    found = {url: OF_THE_CODE.findall(words_of(read(admin_client, url))) for url in urls}
    assert not {url: words for url, words in found.items() if words}


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("model", some_now(LISTED, every=4), ids=label)
def test_every_filter_is_a_question(admin_client: Client, model: Any) -> None:
    answer = admin_client.get(address(model, "changelist"), follow=True)
    asked = [str(spec.title) for spec in answer.context["cl"].filter_specs] if "cl" in answer.context else []
    assert [title for title in asked if not title.endswith("?")] == []


@pytest.mark.parametrize("model", some_now(LISTED, every=4), ids=label)
def test_an_empty_list_says_what_to_do(admin_client: Client, model: Any) -> None:
    usual: Any = admin.site._registry[model]
    assert usual.empty is not PageWords.empty
    if model in (User, PeriodicTask):  # (the signed-in user and the stages' tasks always exist)
        return
    PeriodicTask.objects.all().delete()
    model._default_manager.all().delete()
    page = read(admin_client, address(model, "changelist"))
    if model is Account:  # (instead of an empty list, it shows the mail setup)
        return
    assert usual.empty.words in page.get_text()
    link = page.find("a", string=usual.empty.button)
    assert link is not None
    assert admin_client.get(str(link["href"]), follow=True).status_code == 200


def test_a_list_in_which_nothing_fits_leads_back_to_all_of_it(admin_client: Client) -> None:
    SubscriptionFactory()
    page = read(admin_client, address(Destination, "changelist") + "?q=nobody@example.net")
    back = page.find("a", string="Show all subscribers")
    assert back is not None
    assert back["href"] == "?"


@pytest.mark.parametrize("model", some_now(LISTED, every=4), ids=label)
def test_the_menu_and_the_page_have_one_name(admin_client: Client, model: Any) -> None:
    pages = [page for entry in (*MENU, *SETTINGS_CARDS) for page in entry["pages"]]
    titles = Counter(str(page["title"]) for page in pages)
    named = [str(page["title"]) for page in pages if str(page["link"]) == address(model, "changelist")]
    # Pages that share a tab have its name.
    named = [name for name in named if titles[name] == 1]
    assert all(name == capfirst(str(model._meta.verbose_name_plural)) for name in named)


def test_subscribers_are_added_where_they_are_listed(admin_client: Client) -> None:
    page = read(admin_client, address(Destination, "changelist"))
    add = page.select_one("a.addlink")
    assert add is not None
    assert add["title"] == "Add subscriber"
    form = admin_client.get(str(add["href"]), follow=True)
    assert form.redirect_chain[-1][0] == address(Subscription, "add")
    assert form.context["title"] == "Add a subscriber"


def test_who_may_not_add_subscribers_gets_no_button() -> None:
    request: HttpRequest = RequestFactory().get("/")
    request.user = User.objects.create_user("viewer", is_staff=True)
    assert not admin.site._registry[Destination].has_add_permission(request)


@pytest.mark.parametrize("made", some_now([DestinationFactory, SuppressionFactory]))
def test_an_address_stands_in_titles_as_it_was_typed(admin_client: Client, made: Any) -> None:
    row = made(
        core="iris.B@example.org", **({"label": "iris.B@example.org"} if made is DestinationFactory else {})
    )
    page = read(admin_client, address(type(row), "change", row.pk))
    assert page.title is not None
    assert page.title.get_text().strip().startswith("iris.B@example.org")
    heading = page.find("h1")
    assert heading is not None
    assert "iris.B@example.org" in heading.get_text()


def test_a_list_is_counted_by_its_own_name(admin_client: Client) -> None:
    for number in range(2):
        SuppressionFactory(core=f"reader{number}@example.org")
        DestinationFactory(core=f"reader{number}@example.org")
    assert "2 subscribers" in read(admin_client, address(Destination, "changelist")).get_text()
    assert Suppression.objects.count() == 2


def test_people_whom_nothing_reaches_and_people_without_a_tag_are_found(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = DestinationFactory(core="old@example.org", disabled_at=NOW)
    blocked = DestinationFactory(core="blocked@example.org")
    SuppressionFactory(core="blocked@example.org")
    fine = DestinationFactory(core="fine@example.org")
    tag_people(destinations=[blocked.pk], names=["press"])

    def found(**asked: str) -> list[str]:
        answer = admin_client.get(address(Destination, "changelist"), asked)
        return sorted(row.core for row in answer.context["cl"].result_list)

    assert found(disabled="yes") == [blocked.core, old.core]
    assert found(disabled="no") == [fine.core]
    assert found(tag="-") == [fine.core, old.core]
    assert found(tag="-", disabled="yes") == [old.core]
    # If everybody has a tag, a million rows would be read to find nobody.
    monkeypatch.setattr(lists, "SEARCHED", 1)
    assert found(tag="-") == [fine.core]
