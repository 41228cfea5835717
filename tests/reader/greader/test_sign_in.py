"""Sign-in: who is accepted, and the error messages.

Person B uses every id of A's in every call: B sees nothing of A's, and changes nothing.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core import serializers
from django.test import Client

from common.clock import utcnow
from common.rates import Limit
from feeds.models import Feed
from reader.greader.view import CHANGES, QUESTIONS
from reader.models import AppPassword, Channel, Follow, Mute, Reader, Star, TimelineEntry, Unread
from reader.people.tokens import key_for, make_app_password, revoke
from tests.factories import NOW
from tests.reader.greader.client import (
    FORM,
    READ,
    READING_LIST,
    STARRED,
    UNREAD,
    GoogleApp,
    label,
    stream_path,
)

HELD = (Channel, Follow, Mute, TimelineEntry, Unread, Star)
pytestmark = pytest.mark.django_db
LOGIN, USER = "/api/greader.php/accounts/ClientLogin", "/api/greader.php/reader/api/0/user-info"


def sign_in(name: str, password: str, *, ip: str = "192.0.2.1", **given: str) -> Any:
    body = urlencode({"Email": name, "Passwd": password, **given})
    return Client(REMOTE_ADDR=ip).post(LOGIN, body, content_type=FORM)


def user(key: str) -> Any:
    return Client().get(USER, headers={"Authorization": f"GoogleLogin auth={key}"})


@pytest.fixture
def typed(ada: Reader) -> str:
    return make_app_password(reader=ada, app="phone", now=NOW)[1]


def test_a_name_and_an_app_password_give_a_key(ada: Reader, typed: str) -> None:
    answer = sign_in("Ada", typed)
    lines = dict(line.split("=") for line in answer.content.decode().splitlines())
    assert list(lines) == ["SID", "LSID", "Auth"], "some apps split each line at its only ="
    assert user(lines["Auth"]).json()["userName"] == "ada"
    assert answer["Content-Type"].startswith("text/plain")
    assert json.loads(sign_in("ada", typed, output="json", client="App").content)["Auth"] == lines["Auth"]


def test_it_may_be_typed_as_phones_type(typed: str) -> None:
    assert sign_in(" ada ", f" {typed.upper().replace('-', ' ')}").status_code == 200


def test_only_its_digest_is_kept(typed: str) -> None:
    row = AppPassword.objects.get()
    assert typed not in str(vars(row))
    assert typed.replace("-", "") not in str(vars(row))


def test_whoever_is_wrong_is_told_the_same(ada: Reader, bob: Reader, typed: str) -> None:
    his = make_app_password(reader=bob, app="phone", now=NOW)[1]
    answers = [
        sign_in("ada", "wrong"),
        sign_in("nobody", typed),
        sign_in("ada", his),
        sign_in("ada", "\u00fc"),
        sign_in("no body\u202e" * 100, typed),
    ]
    assert {(one.status_code, one.content) for one in answers} == {(401, b"Error=BadAuthentication")}
    assert sign_in("", typed).status_code == 400
    assert Client().get(LOGIN, {"Email": "ada", "Passwd": typed}).status_code == 405


def test_too_many_wrong_passwords_have_to_wait(ada: Reader, bob: Reader, typed: str) -> None:
    his = make_app_password(reader=bob, app="phone", now=NOW)[1]
    key = sign_in("ada", typed).content.decode().partition("Auth=")[2].strip()
    for _ in range(10):
        assert sign_in("ada", "wrong").status_code == 401
    late = sign_in("ada", typed)
    assert (late.status_code, late["Retry-After"]) == (429, "3600")
    assert sign_in("ada", typed, ip="192.0.2.2").status_code == 200, "from elsewhere she gets in"
    assert sign_in("bob", his).status_code == 200
    assert user(key).status_code == 200, "and her apps go on"


def test_a_name_that_is_tried_from_everywhere_has_to_wait(
    typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reader.people.tokens.WRONG_FOR_A_NAME", Limit("app-wrong", 5))
    for number in range(5):
        sign_in("ada", "wrong", ip=f"192.0.2.{number}")
    assert sign_in("ada", typed, ip="192.0.2.99").status_code == 429


def test_right_passwords_are_not_counted(typed: str) -> None:
    assert {sign_in("ada", typed).status_code for _ in range(15)} == {200}


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer x",
        "GoogleLogin auth=",
        "GoogleLogin auth=ada/1.00000000000000000000000000000000",
        "GoogleLogin auth=ada/99999999999999999999.0",
        "GoogleLogin auth=\u00fc",
    ],
)
def test_a_key_that_we_did_not_make_is_refused_as_apps_expect(typed: str, header: str) -> None:
    answer = Client().get(USER, headers={"Authorization": header.encode().decode("latin-1")})
    assert (answer.status_code, answer.content) == (401, b"Unauthorized")
    assert answer["X-Reader-Google-Bad-Token"] == "true"


def test_a_revoked_password_opens_nothing_and_neither_does_its_key(app: GoogleApp) -> None:
    assert app.get("user-info")[0] == 200
    revoke(app.password, now=NOW)
    assert app.get("user-info") == (401, "Unauthorized")
    assert sign_in("ada", app.typed).status_code == 401


def test_nobody_is_let_in_whom_the_settings_keep_out(app: GoogleApp, settings: Any) -> None:
    settings.READER = "staff"
    assert app.get("user-info")[0] == 401
    assert sign_in("ada", app.typed).status_code == 401


def test_a_key_is_good_under_the_secret_before(app: GoogleApp, settings: Any) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "x" * 50
    assert app.get("user-info")[0] == 200


def test_its_last_use_is_noted_once_a_minute(app: GoogleApp) -> None:
    app.ask("user-info")
    noted = AppPassword.objects.get().last_used_at
    assert noted is not None
    assert utcnow() - noted < timedelta(minutes=1)
    app.ask("user-info")
    assert AppPassword.objects.get().last_used_at == noted


def test_whoever_asks_without_end_has_to_wait(app: GoogleApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reader.greader.view.APP_CALLS", Limit("app-calls", 3))
    statuses = [app.get("user-info")[0] for _ in range(10)]
    assert 429 in statuses
    assert statuses[0] == 200


class TestAddresses:
    @pytest.mark.parametrize("base", ["/api/greader.php", "/greader", "/greader/", "/api/greader.php//"])
    def test_both_answer_with_slashes_too_many(self, ada: Reader, base: str) -> None:
        assert GoogleApp(ada, base=base).ask("user-info")["userName"] == "ada"

    def test_what_is_unknown_is_404_in_text_and_never_a_page(self, app: GoogleApp) -> None:
        for path in ("/greader/nonsense", "/greader/reader/api/0/nonsense", "/greader/reader/api/1/token"):
            answer = Client().get(path)
            assert (answer.status_code, answer["Content-Type"].split(";")[0]) == (404, "text/plain")

    def test_the_address_itself_says_that_it_is_right(self, db: None) -> None:
        for path in ("/greader", "/greader/", "/api/greader.php", "/api/greader.php/"):
            answer = Client().get(path)
            assert (answer.status_code, answer.content) == (200, b"OK"), path

    def test_what_changes_something_is_posted(self, app: GoogleApp) -> None:
        for call in ("edit-tag", "mark-all-as-read", "subscription/edit", "subscription/quickadd"):
            assert app.get(call)[0] == 405
        assert app.http.delete("/greader/reader/api/0/token", headers=app.headers).status_code == 405

    def test_browsers_may_ask_first(self, db: None) -> None:
        answer = Client().options("/greader/reader/api/0/token")
        assert (answer.status_code, answer["Access-Control-Allow-Origin"]) == (204, "*")

    def test_a_body_that_is_too_large_is_refused(self, app: GoogleApp) -> None:
        address = "/greader/reader/api/0/edit-tag"
        answer = app.http.post(address, "i=" + "x" * 1_000_001, content_type=FORM, headers=app.headers)
        assert answer.status_code == 413
        status, told = app.post("edit-tag", i=range(1, 1_052), a="user/-/state/com.google/read")
        assert (status, told) == (400, "A request can have at most 1,050 values.")

    def test_what_fails_on_our_side_is_told_in_a_sentence(
        self, app: GoogleApp, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("reader.greader.posts.select", lambda *_, **__: 1 / 0)
        assert app.get("stream/items/ids", s="user/-/state/com.google/read")[0] == 500


def test_what_apps_ask_besides_is_answered(app: GoogleApp) -> None:
    assert len(app.get("token")[1]) == 57
    assert app.ask("preference/list") == {"prefs": []}
    assert app.ask("preference/stream/list") == {"streamprefs": {}}
    assert app.ask("friend/list") == {"friends": []}
    app.do("preference/set", k="x", v="y")
    app.do("preference/stream/set", s="x", k="x", v="y")


def test_an_answer_that_an_app_has_is_not_sent_again(app: GoogleApp, ada: Reader) -> None:
    address = "/greader/reader/api/0/tag/list"
    first = app.http.get(address, headers=app.headers)
    again = {**app.headers, "If-None-Match": first["ETag"]}
    assert app.http.get(address, headers=again).status_code == 304
    ada.channels.create(uid="sea", name="Sea")
    assert app.http.get(address, headers=again).status_code == 200


def test_a_form_that_shows_the_token_needs_no_header(app: GoogleApp) -> None:
    """Liferea requests the contents of posts so."""
    token = app.get("token")[1]
    address = "/greader/reader/api/0/stream/items/contents"

    body = urlencode({"i": "1", "T": token})
    for good in (token, key_for(app.password)):
        answer = Client().post(address, urlencode({"i": "1", "T": good}), content_type=FORM)
        assert answer.status_code == 200
    for bad in ("", "0" * 57, token[:-1] + "x", token.replace("0", "1", 1)):
        answer = Client().post(address, urlencode({"i": "1", "T": bad}), content_type=FORM)
        assert answer.status_code == 401
    assert Client().get(f"{address}?{body}").status_code == 401
    revoke(app.password, now=NOW)
    assert Client().post(address, body, content_type=FORM).status_code == 401


def everything() -> str:
    return "".join(serializers.serialize("json", model.objects.order_by("pk")) for model in HELD)


def test_with_every_name_of_another_reader_nothing_is_seen_and_nothing_changed(
    ada: Reader, bob: Reader, app: GoogleApp, feed: Feed, post: Callable[..., TimelineEntry], channel: Any
) -> None:
    channel("hers").follows.create(feed=feed)
    places = [post(), post(is_unread=False), post(channel("hers"))]
    app.do("edit-tag", i=places[0].entry_id, a=STARRED)
    posts = [place.entry_id for place in places]
    before, his = everything(), GoogleApp(bob)
    for stream in (READING_LIST, READ, UNREAD, STARRED, label("hers"), f"feed/{feed.pk}", f"feed/{feed.url}"):
        assert his.ids(stream) == his.ids(stream, xt=READ) == [], stream
        assert his.ask(stream_path(stream))["items"] == []
    assert his.contents(*posts) == []
    assert his.ask("subscription/list") == {"subscriptions": []}
    assert "hers" not in his.get("tag/list")[1]
    assert his.ask("unread-count")["unreadcounts"] == []
    for tag in (READ, UNREAD, STARRED):
        for way in "ar":
            his.do("edit-tag", i=posts, **{way: tag})
            assert everything() == before, (way, tag)
    his.do("mark-all-as-read", s=READING_LIST)
    refused: list[tuple[str, dict[str, Any]]] = [
        ("mark-all-as-read", {"s": label("hers")}),
        ("mark-all-as-read", {"s": f"feed/{feed.pk}"}),
        ("subscription/edit", {"ac": "unsubscribe", "s": f"feed/{feed.pk}"}),
        ("subscription/edit", {"ac": "edit", "s": f"feed/{feed.pk}", "a": label("x"), "r": label("hers")}),
        ("rename-tag", {"s": label("hers"), "dest": label("his")}),
        ("disable-tag", {"s": label("hers")}),
    ]
    for call, given in refused:
        assert his.post(call, **given)[0] == 404, (call, given)
    assert everything() == before


def test_without_a_key_every_call_is_401(app: GoogleApp) -> None:
    AppPassword.objects.update(digest="0" * 64)
    for call in {*QUESTIONS, *CHANGES}:
        assert app.post(call, s=READING_LIST, i=1) == (401, "Unauthorized"), call
