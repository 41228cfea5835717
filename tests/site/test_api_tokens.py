"""API tokens: scopes, creation and expiry."""

import json
import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client

from common.api.permissions import SCOPES, covers
from common.clock import utcnow
from feedletter_site.models import ApiToken
from feedletter_site.resources import api_tokens
from feedletter_site.services.tokens import BadToken, make_token, token_of
from feeds.models import Feed
from tests.api import Api, problem
from tests.examples import some_now
from tests.factories import NOW, DeliveryFactory

pytestmark = pytest.mark.django_db

READABLE = {
    "feeds": "feeds",
    "items": "feeds",
    "subscribables": "newsletters",
    "channels": "newsletters",
    "subscriptions": "subscribers",
    "destinations": "subscribers",
    "letters": "letters",
    "issues": "sending",
    "deliveries": "sending",
    "site": "site",
}
CHANGING = [
    ("feeds", "post", "feeds/"),
    ("feeds", "patch", "feeds/1/"),
    ("feeds", "delete", "feeds/1/"),
    ("feeds", "post", "feeds/1/poll/"),
    ("feeds", "post", "feeds/1/held/"),
    ("feeds", "post", "items/1/exclude/"),
    ("feeds", "post", "items/1/include/"),
    ("newsletters", "post", "subscribables/"),
    ("newsletters", "patch", "subscribables/x/"),
    ("newsletters", "delete", "subscribables/x/"),
    ("newsletters", "post", "subscribables/x/pause/"),
    ("newsletters", "post", "subscribables/x/resume/"),
    ("newsletters", "post", "subscribables/x/post-test/"),
    ("newsletters", "post", "subscribables/x/delete-test/"),
    ("newsletters", "post", "channels/check/"),
    ("subscribers", "post", "subscriptions/"),
    ("subscribers", "post", "subscriptions/bulk/"),
    ("subscribers", "patch", "subscriptions/1/"),
    ("subscribers", "post", "subscriptions/1/confirm/"),
    ("subscribers", "post", "subscriptions/1/pause/"),
    ("subscribers", "post", "subscriptions/1/resume/"),
    ("subscribers", "post", "subscriptions/1/unsubscribe/"),
    ("subscribers", "delete", "destinations/1/"),
    ("subscribers", "post", "destinations/1/disable/"),
    ("subscribers", "post", "destinations/1/enable/"),
    ("letters", "post", "letters/"),
    ("letters", "patch", "letters/1/"),
    ("letters", "delete", "letters/1/"),
    ("letters", "post", "letters/1/test/"),
    ("letters", "post", "letters/1/send/"),
    ("letters", "post", "letters/1/unschedule/"),
    ("letters", "post", "letters/1/add-to-series/"),
    ("letters", "post", "letters/1/remove-from-series/"),
    ("sending", "post", "issues/1/approve/"),
    ("sending", "post", "issues/1/hide/"),
    ("sending", "post", "issues/1/unhide/"),
    ("sending", "post", "issues/1/pause/"),
    ("sending", "post", "issues/1/resume/"),
    ("sending", "post", "issues/1/cancel/"),
    ("sending", "post", "issues/1/retry-failed/"),
    ("sending", "post", "deliveries/1/retry/"),
    ("sending", "post", "deliveries/1/cancel/"),
    ("site", "patch", "site/"),
]
ADD = "/admin/feedletter_site/apitoken/add/"
# The permission that all views of an area require.
BEHIND = {
    "feeds:read": ["view_feed", "view_item"],
    "feeds:write": ["view_feed", "add_feed", "change_feed", "delete_feed", "view_item", "change_item"],
    "newsletters:read": ["view_subscribable"],
    "newsletters:write": [
        *("view_subscribable", "add_subscribable", "change_subscribable", "delete_subscribable")
    ],
    "subscribers:read": ["view_subscription", "view_destination"],
    "subscribers:write": [
        *("view_subscription", "add_subscription", "change_subscription"),
        *("view_destination", "change_destination", "delete_destination"),
    ],
    "letters:read": ["view_broadcast"],
    "letters:write": ["view_broadcast", "add_broadcast", "change_broadcast", "delete_broadcast"],
    "site:read": ["view_sitesettings"],
    "site:write": ["view_sitesettings", "change_sitesettings"],
    "sending:read": ["view_issue", "view_delivery"],
    "sending:write": ["view_issue", "change_issue", "view_delivery", "change_delivery"],
}
EVERY = [
    *(("get", f"{resource}/", f"view_{model}") for resource, model in (
        ("feeds", "feed"), ("items", "item"), ("subscribables", "subscribable"),
        ("subscriptions", "subscription"), ("destinations", "destination"),
        ("issues", "issue"), ("deliveries", "delivery"), ("letters", "broadcast"),
        ("site", "sitesettings"), ("channels", "subscribable"),
    )),
    *(
        (method, path, f"{word}_{model}")
        for _, method, path in CHANGING
        for usual in ["add" if path.count("/") == 1 else "change"]
        for word in [{"delete": "delete", "patch": "change"}.get(method, usual)]
        for model in [path.partition("/")[0].removesuffix("s").replace("deliverie", "delivery")
                      .replace("letter", "broadcast").replace("site", "sitesettings")
                      .replace("channel", "subscribable")]
    ),
]  # fmt: skip


@pytest.fixture(autouse=True)
def fresh_limits() -> None:
    cache.clear()


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada"))
    return client


def opened(key: str) -> int:
    return Client(headers={"Authorization": f"Bearer {key}"}).get("/api/v1/feeds/").status_code


@pytest.mark.parametrize("resource", some_now(READABLE))
def test_a_token_reads_what_its_scope_names_and_nothing_else(resource: str) -> None:
    for scope in SCOPES:
        area = scope.partition(":")[0]
        expected = 200 if area == READABLE[resource] else 403
        assert Api(scope).get(f"{resource}/").status_code == expected, scope


@pytest.mark.parametrize(("area", "method", "path"), some_now(CHANGING), ids=lambda part: str(part))
def test_a_change_needs_the_scope_to_write(area: str, method: str, path: str) -> None:
    others = [scope for scope in SCOPES if scope != f"{area}:write"]
    answer = getattr(Api(*others), method)(path)
    assert f"it needs the scope {area}:write" in problem(answer, 403)["detail"]
    # RFC 6750 §3.1.
    assert answer.headers["WWW-Authenticate"] == f'Bearer error="insufficient_scope", scope="{area}:write"'
    # The site always exists, and an empty change is valid.
    expected = (200,) if path == "site/" else (400, 404)
    assert getattr(Api(f"{area}:write"), method)(path).status_code in expected


def test_every_change_that_there_is_was_tried(client: Client) -> None:
    paths = client.get("/api/v1/schema/", headers={"Accept": "application/json"}).json()["paths"]
    described = {
        (method, re.sub(r"\{\w+\}", "#", path.removeprefix("/api/v1/")))
        for path, methods in paths.items()
        for method in methods
        if method != "get" and not path.endswith("/subscribe/")
    }
    assert described == {(method, re.sub(r"/(1|x)/", "/#/", path)) for _, method, path in CHANGING}


def test_who_may_write_may_read() -> None:
    assert covers(["feeds:write"], "feeds:read")
    assert not covers(["feeds:read"], "feeds:write")
    assert not covers(["feeds:write"], "sending:read")


def test_a_key_is_shown_once_and_kept_as_a_digest() -> None:
    token, key = make_token(name=" My\nshop ", scopes=["sending:read", "feeds:read"], now=NOW)
    assert token.name == "My shop"
    assert token.scopes == ["feeds:read", "sending:read"]
    assert re.fullmatch(r"fl_[A-Za-z0-9]{8}_[A-Za-z0-9]{40}", key)
    kept = " ".join(str(value) for value in ApiToken.objects.values_list()[0])
    assert key.rpartition("_")[2] not in kept
    assert token_of(key=key, now=NOW) == token


@pytest.mark.parametrize(
    "facts",
    [{"name": ""}, {"name": "x" * 101}, {"scopes": []}, {"scopes": ["all"]}, {"expires_at": NOW}],
    ids=str,
)
def test_a_token_that_makes_no_sense_is_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        make_token(**{"name": "x", "scopes": ["feeds:read"], "now": NOW, **facts})


def test_a_wrong_key_opens_nothing() -> None:
    _, key = make_token(name="x", scopes=["feeds:read"], now=utcnow())
    last = "a" if key[-1] != "a" else "b"
    for wrong in (key[:-1] + last, key[:-1], key + "a", "fl_x", "", "ü", key.upper()):
        answer = Client(headers={"Authorization": f"Bearer {wrong}"}).get("/api/v1/feeds/")
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="api"'
        problem(answer, 401)
    assert Client(headers={"Authorization": f"Token {key}"}).get("/api/v1/feeds/").status_code == 401
    assert Client(headers={"Authorization": f"bearer {key}"}).get("/api/v1/feeds/").status_code == 200


def test_a_token_ends_by_its_time_by_revoking_and_with_who_made_it() -> None:
    ada = User.objects.create_user("ada", is_staff=True)
    ada.user_permissions.set(Permission.objects.filter(codename="view_feed"))
    now = utcnow()
    facts: dict[str, Any] = {"name": "x", "scopes": ["feeds:read"], "now": now}
    token, key = make_token(**facts, expires_at=now + timedelta(hours=1), made_by=ada)
    assert opened(key) == 200
    with pytest.raises(BadToken, match="expired"):
        token_of(key=key, now=now + timedelta(hours=1))
    User.objects.update(is_staff=False)
    assert opened(key) == 401
    User.objects.update(is_staff=True)
    assert api_tokens.revoke(token, now=now).numbers["changed"]
    assert not api_tokens.revoke(token, now=now).numbers["changed"]
    with pytest.raises(BadToken, match="revoked"):
        token_of(key=key, now=now)
    ada.delete()
    assert not ApiToken.objects.exists()


def test_use_is_noted_once_a_minute(django_assert_num_queries: Any) -> None:
    token, key = make_token(name="x", scopes=["feeds:read"], now=NOW)
    token_of(key=key, now=NOW)
    with django_assert_num_queries(1):
        token_of(key=key, now=NOW + timedelta(seconds=59))
    token.refresh_from_db()
    assert token.last_used_at == NOW
    token_of(key=key, now=NOW + timedelta(seconds=60))
    token.refresh_from_db()
    assert token.last_used_at == NOW + timedelta(seconds=60)


def test_a_token_has_nobodys_permissions_and_needs_no_csrf_token() -> None:
    ada = User.objects.create_superuser("ada")
    _, key = make_token(name="x", scopes=["feeds:read"], now=utcnow(), made_by=ada)
    strict = Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {key}"})
    body = {"url": "https://x.test/"}
    assert strict.post("/api/v1/feeds/", body, content_type="application/json").status_code == 403
    _, key = make_token(name="x", scopes=["feeds:write"], now=utcnow(), made_by=ada)
    strict = Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {key}"})
    assert strict.post("/api/v1/feeds/", body, content_type="application/json").status_code == 201


def test_staff_may_do_what_they_may_in_the_admin() -> None:
    DeliveryFactory()
    eve = User.objects.create_user("eve", is_staff=True)
    client = Client()
    client.force_login(eve)
    assert client.get("/api/v1/feeds/").status_code == 403
    eve.user_permissions.set(Permission.objects.filter(codename__in=["view_feed", "change_delivery"]))
    assert client.get("/api/v1/feeds/").status_code == 200
    assert client.get("/api/v1/deliveries/").status_code == 200
    body = {"url": "https://x.test/"}
    assert client.post("/api/v1/feeds/", body, content_type="application/json").status_code == 403
    feed = Feed.objects.get()
    assert client.delete(f"/api/v1/feeds/{feed.pk}/").status_code == 403
    User.objects.update(is_staff=False)
    assert client.get("/api/v1/feeds/").status_code == 403


def test_commands_make_list_and_revoke() -> None:
    def run(*arguments: str) -> Any:
        out = StringIO()
        call_command(*arguments, "--json", stdout=out)
        return json.loads(out.getvalue())

    made = run("create_api_token", "shop", "--scope", "feeds:read", "--scope", "sending:read", "--days", "30")
    assert (made["name"], made["scopes"], made["good"]) == ("shop", "feeds:read, sending:read", True)
    assert opened(made["key"]) == 200
    (listed,) = run("list_api_tokens")
    assert listed["prefix"] == made["key"][3:11]
    assert made["key"] not in json.dumps(listed)
    assert run("revoke_api_token", str(made["id"]))["changed"] is True
    assert opened(made["key"]) == 401
    every = run("create_api_token", "everything", "--all-scopes")
    assert (every["scopes"], every["expires_at"]) == (", ".join(SCOPES), None)
    with pytest.raises(CommandError, match="--scope: Choose at least one"):
        call_command("create_api_token", "x")
    with pytest.raises(CommandError, match="1 or more"):
        call_command("create_api_token", "x", "--all-scopes", "--days", "0")
    with pytest.raises(CommandError, match="list_api_tokens"):
        call_command("revoke_api_token", "999999")


def key_in(page: str) -> str:
    found = re.search(r"fl_[A-Za-z0-9]{8}_[A-Za-z0-9]{40}", page)
    assert found, page
    return found[0]


def test_the_admin_makes_one_shows_its_key_once_and_revokes_it(admin: Client) -> None:
    assert "feeds:write" in admin.get(ADD).content.decode()
    made = admin.post(ADD, {"name": "shop", "scopes": ["feeds:read"], "lifetime": "30"})
    key = key_in(made.content.decode())
    assert "no-store" in made.headers["Cache-Control"]
    assert opened(key) == 200
    token: Any = ApiToken.objects.get()
    assert (token.made_by.username, token.scopes) == ("ada", ["feeds:read"])
    assert token.expires_at - token.created_at == timedelta(days=30)
    page = f"/admin/feedletter_site/apitoken/{token.pk}/change/"
    for address in (page, "/admin/feedletter_site/apitoken/"):
        shown = admin.get(address)
        assert shown.status_code == 200
        assert key not in shown.content.decode()
        assert token.prefix in shown.content.decode()
    assert key not in str(admin.session.items()) + str(admin.cookies)
    body = {"action": "revoke", "_selected_action": [token.pk]}
    asked = admin.post("/admin/feedletter_site/apitoken/", body)
    assert "You can’t undo this" in asked.content.decode()
    assert opened(key) == 200
    admin.post("/admin/feedletter_site/apitoken/", {**body, "confirmed": "1"})
    assert opened(key) == 401


def staff(*codenames: str) -> User:
    eve = User.objects.create_user("eve", is_staff=True)
    eve.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return eve


def offered(client: Client) -> set[str]:
    page = client.get(ADD).content.decode()
    return {scope for scope in SCOPES if f'value="{scope}"' in page}


@pytest.mark.parametrize("scope", some_now(SCOPES))
def test_a_scope_is_handed_on_by_those_only_who_may_do_all_that_is_behind_it(
    client: Client, scope: str
) -> None:
    maker = staff("add_apitoken", "view_apitoken", *BEHIND[scope])
    client.force_login(maker)
    area = scope.partition(":")[0]
    assert offered(client) == {scope, f"{area}:read"}
    for lost in BEHIND[scope]:
        if lost.startswith("view_") and lost.replace("view_", "change_") in BEHIND[scope]:
            continue  # the permission to change includes viewing
        left = [name for name in BEHIND[scope] if name != lost]
        maker.user_permissions.set(
            Permission.objects.filter(codename__in=["add_apitoken", "view_apitoken", *left])
        )
        assert scope not in offered(client), lost
        client.post(ADD, {"name": "x", "scopes": [scope], "lifetime": ""})
        assert not ApiToken.objects.exists()


@pytest.mark.parametrize(("method", "path", "permission"), some_now(EVERY), ids=lambda part: str(part))
def test_at_each_use_a_token_may_no_more_than_its_maker(method: str, path: str, permission: str) -> None:
    """A token with all scopes, made by a user who lacks one permission."""
    eve = staff()
    _, key = make_token(name="x", scopes=SCOPES, now=utcnow(), made_by=eve)
    program = Client(headers={"Authorization": f"Bearer {key}"})
    person = Client()
    person.force_login(eve)

    def tried(client: Client) -> int:
        send = getattr(client, method)
        return int(send(f"/api/v1/{path}", content_type="application/json").status_code)

    model = permission.partition("_")[2]
    others = Permission.objects.exclude(codename=permission)
    if method == "get":
        others = others.exclude(codename=f"change_{model}")
    for may, expected in ((others, {403}), (Permission.objects.all(), {200, 400, 404})):
        eve.user_permissions.set(may)
        assert {tried(program), tried(person)} <= expected
    eve.user_permissions.clear()
    answer = getattr(program, method)(f"/api/v1/{path}", content_type="application/json")
    assert "the account that made it" in problem(answer, 403)["detail"]


def test_a_token_made_by_a_command_asks_nobody() -> None:
    assert opened(make_token(name="x", scopes=["feeds:read"], now=utcnow())[1]) == 200
