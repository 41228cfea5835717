"""Every error is a problem (RFC 9457) that names the field and says what to do.

Pages by key: every row once, whatever rows are added and removed meanwhile.
Requests per period, and then a 429 with Retry-After.
"""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from rest_framework.exceptions import APIException

from common.api.problems import translated
from common.refused import Refused
from feeds.models import Feed
from tests.api import Api, fields, problem
from tests.factories import FeedFactory, SubscribableFactory

pytestmark = pytest.mark.django_db


def test_what_is_wrong_in_a_body_is_named_with_its_place() -> None:
    answer = Api().post("subscribables/", name="weekly", feeds=[1, "x"], params={"a/b": 1})
    told = problem(answer, 400)
    assert {error["pointer"] for error in told["errors"]} == {"#/feeds/1", "#/params/a~1b"}
    assert "feeds.1: " in told["detail"]


def test_what_a_service_refuses_is_a_422_with_the_field() -> None:
    feed = FeedFactory()
    answer = Api().post("subscribables/", name="weekly", feeds=[feed.pk], time_zone="Mars/Olympus")
    assert fields(answer, 422) == ["time_zone"]
    assert "There is no time zone “Mars/Olympus”" in answer.json()["detail"]


def test_a_refusal_of_any_sort_names_its_field_or_is_about_how_things_are() -> None:
    class NotToday(Refused):
        pass

    about_a_field = translated(NotToday("Choose another day.", "until"))
    assert isinstance(about_a_field, APIException)
    assert (about_a_field.status_code, about_a_field.detail) == (422, {"until": ["Choose another day."]})
    as_things_are = translated(NotToday("It is sent already."))
    assert isinstance(as_things_are, APIException)
    assert (as_things_are.status_code, str(as_things_are.detail)) == (409, "It is sent already.")


def test_a_name_that_is_taken_is_a_409() -> None:
    there = SubscribableFactory()
    assert fields(Api().post("subscribables/", name=there.name, feeds=[FeedFactory().pk]), 409) == ["name"]


def test_a_wrong_parameter_is_named_as_such() -> None:
    (error,) = problem(Api().get("items/", state="lost"), 400)["errors"]
    assert (error["field"], error["parameter"]) == ("state", "state")
    assert "unassigned" in error["detail"]
    assert fields(Api().get("items/", stat="cleared")) == ["stat"]
    assert fields(Api().get("items/?state=cleared&state=assigned")) == ["state"]


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff",
        b'{"url": NaN}',
        b"[" * 100_000,
        b'{"a":' * 900 + b"1" + b"}" * 900,
        b'["url"]',
        b'"url"',
        b"1" * 10_000,
        b'{"url": "https://x.test/\\u0000"}',
        b'{"url": "\\ud800"}',
        b'{"\\ud800": 1}',
        b"",
    ],
    ids=lambda body: body[:12].decode("latin-1"),
)
def test_a_body_that_makes_no_sense_is_a_400(body: bytes) -> None:
    answer = Api().client.post("/api/v1/feeds/", body, content_type="application/json")
    problem(answer, 400)
    assert not Feed.objects.exists()


def test_a_charset_is_not_believed() -> None:
    body = '{"url": "https://x.test/ä"}'.encode()
    # `post` would encode it in that charset.
    sent = Api().client.generic("POST", "/api/v1/feeds/", body, "application/json; charset=utf-16")
    assert (sent.status_code, sent.json()["url"]) == (201, "https://x.test/ä")


def test_other_bodies_are_refused_by_their_type_and_size() -> None:
    client = Api().client
    problem(client.post("/api/v1/feeds/", {"url": "https://x.test/"}), 415)
    problem(client.post("/api/v1/feeds/", b"x" * (1024 * 1024 + 1), content_type="application/json"), 413)
    problem(client.get("/api/v1/feeds/", headers={"Accept": "text/html"}), 406)


def test_nothing_under_an_address_is_a_404_whatever_the_address() -> None:
    api = Api()
    problem(api.get("feeds/999999/"), 404)
    problem(api.get(f"feeds/{'9' * 40}/"), 404)
    problem(api.get("feeds/x/"), 404)
    problem(api.get("nonsense/at/all"), 404)
    problem(api.get("feeds/a%0Ab/"), 404)
    problem(api.post("nonsense/"), 404)


def test_a_method_that_is_not_allowed_says_which_are() -> None:
    answer = Api().client.put("/api/v1/feeds/")
    problem(answer, 405)
    assert answer.headers["Allow"] == "GET, POST, HEAD, OPTIONS"


def test_the_slash_at_the_end_may_be_left_out() -> None:
    api = Api()
    assert api.get("feeds").status_code == 200
    assert api.post("feeds", url="https://x.test/").status_code == 201


def test_who_shows_nothing_is_told_how() -> None:
    answer = Client().get("/api/v1/feeds/")
    problem(answer, 401)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")


def test_what_nobody_expected_is_told_without_its_trace(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def broken(self: Any) -> None:
        raise RuntimeError("the secret of the house")

    monkeypatch.setattr("feeds.api.views.FeedViewSet.get_queryset", broken)
    api = Api()
    api.client.raise_request_exception = False
    told = problem(api.get("feeds/"), 500)
    assert "secret" not in str(told)
    assert any(record.exc_info for record in caplog.records)


def test_a_database_that_is_away_asks_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(self: Any) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr("feeds.api.views.FeedViewSet.get_queryset", locked)
    api = Api()
    api.client.raise_request_exception = False
    answer = api.get("feeds/")
    assert "locked" not in problem(answer, 503)["detail"]
    assert int(answer.headers["Retry-After"]) > 0


def test_a_session_without_its_csrf_token_changes_nothing() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("ada"))
    answer = client.post("/api/v1/feeds/", {"url": "https://x.test/"}, content_type="application/json")
    assert "CSRF" in problem(answer, 403)["detail"]
    assert not Feed.objects.exists()


def walk(api: Api, address: str, link: str = "next") -> list[list[int]]:
    pages: list[list[int]] = []
    url: str | None = address
    while url is not None:
        page = api.client.get(url).json()
        pages.append([row["id"] for row in page["results"]])
        url = page[link]
    return pages


def test_pages_follow_each_other_there_and_back() -> None:
    api, pks = Api(), [feed.pk for feed in FeedFactory.create_batch(5)]
    assert walk(api, "/api/v1/feeds/?page_size=2") == [pks[:2], pks[2:4], pks[4:]]
    last = f"/api/v1/feeds/?page_size=2&cursor=a{pks[3]}"
    assert walk(api, last, "previous") == [pks[4:], pks[2:4], pks[:2]]
    back = pks[::-1]
    assert walk(api, "/api/v1/feeds/?page_size=2&ordering=-id") == [back[:2], back[2:4], back[4:]]


def test_a_row_that_goes_or_comes_makes_none_twice_and_none_missing() -> None:
    api, pks = Api(), [feed.pk for feed in FeedFactory.create_batch(4)]
    first = api.get("feeds/", page_size=2).json()
    Feed.objects.filter(pk=pks[0]).delete()
    new = FeedFactory().pk
    second = api.client.get(first["next"]).json()
    assert [row["id"] for row in second["results"]] == pks[2:]
    assert [row["id"] for row in api.client.get(second["next"]).json()["results"]] == [new]


def test_links_keep_the_filters() -> None:
    FeedFactory.create_batch(3, status="paused")
    FeedFactory()
    pages = walk(Api(), "/api/v1/feeds/?page_size=1&status=paused")
    assert [len(page) for page in pages] == [1, 1, 1]


@pytest.mark.parametrize("cursor", ["x", "", "a", "a-1", f"a{'9' * 19}", "cD0y", "a1\0", "a１"])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    assert fields(Api().get("feeds/", cursor=cursor)) == ["cursor"]


@pytest.mark.parametrize("size", ["0", "1001", "-1", "x", ""])
def test_pages_are_bounded(size: str) -> None:
    assert fields(Api().get("feeds/", page_size=size)) == ["page_size"]


def test_a_page_is_found_by_its_key_not_by_counting(django_assert_max_num_queries: Any) -> None:
    FeedFactory.create_batch(3)
    api = Api()
    api.get("feeds/")
    with django_assert_max_num_queries(3) as seen:
        api.get("feeds/", page_size=1, cursor="a1")
    assert not any("OFFSET" in query["sql"] or "COUNT(" in query["sql"] for query in seen.captured_queries)


@pytest.fixture
def few(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {"api": "3/minute", "api_anonymous": "2/minute", "subscribe": "30/hour"}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": rates}
    # Not at the turn of a minute.
    monkeypatch.setattr("common.api.permissions.time.time", lambda: 1_000_000_020.0)


@pytest.mark.usefixtures("few")
def test_each_token_has_its_own_number() -> None:
    one, other = Api(), Api()
    assert [one.get("feeds/").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert other.get("feeds/").status_code == 200


@pytest.mark.usefixtures("few")
def test_a_429_says_when_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    for _ in range(3):
        api.get("feeds/")
    answer = api.post("feeds/", url="https://x.test/")
    assert "Try again in 60 seconds" in problem(answer, 429)["detail"]
    assert answer.headers["Retry-After"] == "60"
    monkeypatch.setattr("common.api.permissions.time.time", lambda: 1_000_000_080.0)
    assert api.get("feeds/").status_code == 200


@pytest.mark.usefixtures("few")
def test_a_person_is_counted_whatever_the_session() -> None:
    ada = User.objects.create_superuser("ada")
    codes = []
    for _ in range(4):
        client = Client()
        client.force_login(ada)
        codes.append(client.get("/api/v1/feeds/").status_code)
    assert codes == [200, 200, 200, 429]


@pytest.mark.usefixtures("few")
def test_strangers_and_wrong_tokens_are_counted_by_their_address() -> None:
    def knock(address: str, **headers: str) -> int:
        return Client().get("/api/v1/feeds/", REMOTE_ADDR=address, headers=headers).status_code

    assert [knock("192.0.2.1"), knock("192.0.2.1", Authorization="Bearer fl_x"), knock("192.0.2.1")] == [
        401,
        401,
        429,
    ]
    assert knock("192.0.2.2") == 401
    # The addresses of one /64 are one client.
    assert [knock(f"2001:db8::{number}") for number in range(3)] == [401, 401, 429]


@pytest.mark.usefixtures("few")
def test_the_description_is_not_for_everyone_without_end() -> None:
    assert [Client().get("/api/v1/schema/").status_code for _ in range(3)] == [200, 200, 429]
