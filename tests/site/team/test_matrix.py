"""Every page of the admin × every role. A new page fails here until it is classed."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import get_resolver, resolve, reverse
from django.utils import timezone

from delivery.models import IssueImport
from feedletter_site.team.access import OF_LISTS, OF_ROWS
from feedletter_site.team.people import give_role
from feeds.models import Tag
from subscriptions.models import ListImport, Subscribable, SubscriberTag
from tests.e2e.browser.every_page import fill
from tests.examples import some_now
from tests.factories import (
    AssignmentFactory,
    BridgeFactory,
    BroadcastFactory,
    DeliveryFactory,
    FeedFactory,
    IssueFactory,
    ItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
)
from tests.site.test_url_table import addresses

pytestmark = [pytest.mark.django_db, pytest.mark.needs("reader"), pytest.mark.needs("chat")]
LINKS = re.compile(r'<a\s[^>]*?href="([^"]+)"')
ROLES = ("sender", "editor", "limited sender", "limited editor", "limited elsewhere")
# By model: pages of their rows, and who may open them. Pages of no class are an error.
STANDARD = "add change changelist delete history"
LISTS = "change changelist history"
SEND = {"delivery_broadcast": "send"}
# Django's, which know no rows of ours; and the way out.
NOBODY = {"app_list", "autocomplete", "search", "view_on_site", "password_change_done", "logout"}
KEYLESS = {"changelist", "add", "import_list", "export_list"}
# All roles; limited users for rows of their newsletters.
EDIT = {
    "delivery_broadcast": f"{LISTS} add keep picture series show",
    "delivery_issue": f"{LISTS} edit letter progress",
    "delivery": "next_issue_edit settling_edit",
    "feeds_feed": LISTS,
    "feeds_item": LISTS,
    "subscriptions_assignable": LISTS,
    "subscriptions_listimport": f"{LISTS} progress refused",
    "subscriptions_subscribable": LISTS,
    "subscriptions_subscription": f"{LISTS} add export_list import_list",
}
# Editors and senders of all newsletters.
EDIT_EVERYWHERE = {
    "feeds_feed": "add export_opml forecast import_opml opml_look opml_run",
    "feeds_tag": LISTS,
    "subscriptions_destination": f"{LISTS} add export_list import_list",
    "subscriptions_subscribertag": LISTS,
    "subscriptions_suppression": LISTS,
    "bridge": "connected set_up",
}
# Without rows.
OPEN = {
    "your_account",
    "own_address",
    "index",
    "jsi18n",
    "admin_sign_in",
    "admin_password_change",
    "password_change",
    "login",
}
ONLY_EVERYTHING = {
    "add": "bridge",
    "admin": "settings",
    "auth_group": STANDARD,
    "auth_user": f"{STANDARD} invite password_change",
    "bridge": "application reconnect",
    "chat_guild": STANDARD,
    "chat_guildfeed": STANDARD,
    "chat_serveralert": STANDARD,
    "delivery": "new_show look_show",
    "delivery_account": STANDARD,
    "delivery_bounce": STANDARD,
    "delivery_broadcast": "delete",
    "delivery_delivery": STANDARD,
    "delivery_dkimkey": STANDARD,
    "delivery_issue": "add delete",
    "delivery_issueimport": f"{STANDARD} progress report",
    "delivery_lane": STANDARD,
    "delivery_lettertemplate": f"{STANDARD} edit preview show",
    "delivery_restore": STANDARD,
    "delivery_serviceaccount": STANDARD,
    "delivery_webhook": STANDARD,
    "delivery_webhookcall": STANDARD,
    "discord": "set_up",
    "django_celery_beat_crontabschedule": STANDARD,
    "django_celery_beat_intervalschedule": STANDARD,
    "django_celery_beat_periodictask": STANDARD,
    "feedletter_site_apitoken": STANDARD,
    "feedletter_site_arrival": f"{STANDARD} progress report",
    "feeds_feed": "delete",
    "feeds_item": "add delete",
    "feeds_tag": "add delete",
    "first": "steps",
    "mail": "check set_up",
    "reader_invitation": STANDARD,
    "reader_reader": f"{STANDARD} invite_somebody",
    "subscriptions_assignable": "add delete",
    "subscriptions_destination": "data delete",
    "subscriptions_listimport": "add delete",
    "subscriptions_sitesettings": "add change delete history",
    "subscriptions_subscribable": "add add_bridge delete",
    "subscriptions_subscribertag": "add delete",
    "subscriptions_subscription": "delete",
    "subscriptions_suppression": "add delete",
}


def names() -> Iterator[tuple[str, str]]:
    """Yield name and route of every page below /admin/."""
    for name, address in addresses(get_resolver().url_patterns, "", ""):
        if address.startswith("/admin/") and not name.endswith(":None"):
            yield name.removeprefix("admin:"), address


PAGES = sorted(set(names()))


@pytest.fixture
def rows() -> dict[str, Any]:
    """Return rows by the name of their model, all of one newsletter where they have one."""
    newsletter = SubscribableFactory()
    feed, now = FeedFactory(), timezone.now()
    newsletter.feeds.add(feed)
    issue = IssueFactory(subscribable=newsletter, published_at=None)
    return {
        "subscriptions_subscribable": newsletter,
        "subscriptions_assignable": AssignmentFactory(assignable__subscribable=newsletter).assignable,
        "subscriptions_subscription": SubscriptionFactory(subscribable=newsletter),
        "subscriptions_destination": SubscriptionFactory(subscribable=newsletter).destination,
        "subscriptions_suppression": SuppressionFactory(),
        "subscriptions_subscribertag": SubscriberTag.objects.create(name="press", key="press"),
        "subscriptions_listimport": ListImport.objects.create(subscribable=newsletter, is_limited=True),
        "delivery_issue": issue,
        "delivery_broadcast": BroadcastFactory(subscribable=newsletter),
        "delivery_delivery": DeliveryFactory(issue=issue),
        "delivery_issueimport": IssueImport.objects.create(subscribable=newsletter, file_name="a.zip"),
        "feeds_feed": feed,
        "feeds_item": ItemFactory(feed=feed),
        "feeds_tag": Tag.objects.create(name="sea"),
        "bridge_set": BridgeFactory(),
        "auth_user": User.objects.create_user(f"somebody {now}"),
    }


def client_of(role: str, newsletter: Subscribable) -> Client:
    name = role.rpartition(" ")[2]
    user = User.objects.create_user(role, is_staff=True)
    limits = {"limited elsewhere": [SubscribableFactory()]}.get(role, [newsletter])
    limited = role.startswith("limited")
    give_role(
        user=user, role="sender" if name == "elsewhere" else name, newsletters=limits if limited else None
    )
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def with_key(name: str, address: str, rows: dict[str, Any]) -> str:
    match = resolve(address)
    model = OF_ROWS.get(name, name.rpartition("_")[0])
    keys = {"object_id", "pk", "id", "bridge"} & match.kwargs.keys()
    if not keys or model not in rows:
        return address
    key = keys.pop()
    kwargs = {**match.kwargs, key: rows[model].name if key == "bridge" else rows[model].pk}
    return reverse(match.view_name, kwargs=kwargs)


# Leads to its only row.
NOBODY.add("subscriptions_sitesettings_changelist")


def flat(table: dict[str, str]) -> set[str]:
    return {f"{model}_{page}" for model, pages in table.items() for page in pages.split()}


EVERYONE, EDITORS, SENDERS = flat(EDIT), flat(EDIT_EVERYWHERE), flat(SEND)
CLASSED = EVERYONE | EDITORS | SENDERS | OPEN | flat(ONLY_EVERYTHING) | NOBODY


def may_open(role: str, name: str) -> bool:
    kind = role.removeprefix("limited ")
    if role == "limited elsewhere":
        return name in EVERYONE and name.endswith(tuple(KEYLESS))
    if name in EVERYONE:
        return True
    if name in SENDERS:
        return kind == "sender"
    return name in EDITORS and role == kind


def is_refused(answer: Any) -> bool:
    """Django leads to the first page if there is no such row."""
    return answer.status_code in (403, 404) or answer.headers.get("Location") == "/admin/"


def test_every_page_of_the_admin_is_classed_once() -> None:
    names = {name for name, _ in PAGES}
    assert names - CLASSED == set()
    assert CLASSED - names == set()
    assert OF_LISTS | OF_ROWS.keys() <= names


def test_pages_without_a_name_show_nothing() -> None:
    nameless = [each for each in addresses(get_resolver().url_patterns, "", "") if each[0].endswith(":None")]
    shown = [resolve(address).func for _, address in nameless if address.startswith("/admin/")]
    views = {getattr(each, "view_class", each).__name__ for each in shown}
    assert views == {"RedirectView", "catch_all_view"}


@pytest.mark.parametrize("role", some_now(ROLES, every=3))
def test_a_role_opens_its_pages_and_no_others(role: str, rows: dict[str, Any]) -> None:
    client = client_of(role, rows["subscriptions_subscribable"])
    wrong = []
    for name, address in PAGES:
        if name in NOBODY | OPEN:
            continue
        cache.clear()
        where = with_key(name, address, rows)
        # A page that answers only POST opens for 405, too.
        answer = client.get(where)
        if not may_open(role, name) and not (is_refused(answer) or answer.status_code == 405):
            wrong.append(f"{name} opens at {where}: {answer.status_code}")
        if may_open(role, name) and is_refused(answer):
            wrong.append(f"{name} is closed at {where}: {answer.status_code}")
        if not may_open(role, name) and not is_refused(changed := client.post(where)):
            wrong.append(f"{name} takes a POST at {where}: {changed.status_code}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("role", some_now(["limited editor", "editor", "sender", "limited sender"]))
def test_every_link_that_a_role_is_shown_opens(role: str) -> None:
    fill()
    client = client_of(role, Subscribable.objects.get(name="harbour"))
    # A page once for each tab, whatever else its query selects.
    waiting, known, refused = [("/admin/", "")], {"/admin/"}, []
    while waiting:
        url, shown_on = waiting.pop()
        cache.clear()
        answer = client.get(url)
        if is_refused(answer):
            refused.append(f"{shown_on} leads to {url}: {answer.status_code}")
        if answer.status_code != 200 or "text/html" not in answer.headers["Content-Type"] or answer.streaming:
            continue
        for href in LINKS.findall(answer.content.decode()):
            parts = urlsplit(urljoin(f"http://testserver{url}", unescape(href)))
            key = f"{parts.path}{parse_qs(parts.query).get('tab', '')}"
            if parts.netloc == "testserver" and key not in known and "logout" not in key:
                known.add(key)
                waiting.append((f"{parts.path}?{parts.query}", url))
    assert len(known) > 40
    assert not refused, "\n".join(refused)
