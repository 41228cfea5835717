"""Tokens: valid for one purpose, until they expire, and for nothing else.

Links with a token open their page, whatever a mail program added to the URL.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import Resolver404, resolve, reverse
from hypothesis import example, given
from hypothesis import strategies as st

from common import signing
from common.signing import TokenError, TokenExpired, without_tail
from subscriptions.links import manage_url, unsubscribe_url
from subscriptions.models import Subscription
from tests.factories import SubscriptionFactory

TAILS = [">", ">/", "/>", "/%3E", "%3E", ".", "/.", ")", "/)", "/).", "/%253E", "/&gt;", '/"', "/]", "/,"]
TAILS += ["=", "/=20", "/%E2%80%9D", "%C2%BB/", "/*", "/%20", "%0A", "/'", "/;", "/>)", ""]
TOKENS = st.from_regex(r"[A-Za-z0-9_-]([A-Za-z0-9_.-]{0,40}[A-Za-z0-9_-])?", fullmatch=True)
PAGES = {
    "subscriptions:confirm": "token",
    "subscriptions:unsubscribe": "token",
    "subscriptions:manage": "token",
    "subscriptions:sign_in_link": "token",
    "subscriptions:new_address": "token",
    "subscriptions:old_address": "token",
    "setup": "token",
    "reader:invitation": "key",
    "account_reset_password_from_key": "key",
}
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
TWO_DAYS = NOW + timedelta(hours=48)
KEYS = st.integers(min_value=1, max_value=10**17)
SECRETS = st.text(alphabet="abcXYZ019-_", min_size=16, max_size=40)


def test_a_signed_token_carries_its_payload() -> None:
    token = signing.sign("confirm", {"id": 7, "nonce": "abc"}, expires=TWO_DAYS)
    assert signing.read("confirm", token, now=NOW) == {"id": 7, "nonce": "abc"}


def test_a_signed_token_stands_in_a_path_as_it_is() -> None:
    token = signing.sign("confirm", {"id": 7, "nonce": "a" * 40}, expires=TWO_DAYS)
    assert set(token) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.=")


def test_a_signed_token_ends_on_the_second() -> None:
    token = signing.sign("confirm", {"id": 7}, expires=TWO_DAYS)
    assert signing.read("confirm", token, now=TWO_DAYS - timedelta(seconds=1))
    with pytest.raises(TokenExpired) as caught:
        signing.read("confirm", token, now=TWO_DAYS)
    assert caught.value.payload == {"id": 7}


def test_a_signed_token_is_good_for_its_purpose_only() -> None:
    token = signing.sign("confirm", {"id": 7}, expires=TWO_DAYS)
    with pytest.raises(TokenError):
        signing.read("sign_in", token, now=NOW)


def test_a_signed_token_survives_a_key_that_became_a_fallback() -> None:
    with override_settings(SECRET_KEY="old" * 20):
        token = signing.sign("confirm", {"id": 7}, expires=TWO_DAYS)
    with override_settings(SECRET_KEY="new" * 20, SECRET_KEY_FALLBACKS=["old" * 20]):
        assert signing.read("confirm", token, now=NOW) == {"id": 7}
    with override_settings(SECRET_KEY="new" * 20), pytest.raises(TokenError):
        signing.read("confirm", token, now=NOW)


@given(st.text(max_size=1200))
def test_nonsense_is_no_signed_token(text: str) -> None:
    with pytest.raises(TokenError):
        signing.read("confirm", text, now=NOW)


@given(st.integers(min_value=0, max_value=200), st.characters())
@example(0, "\ud800")
def test_a_signed_token_with_one_character_changed_is_refused(place: int, char: str) -> None:
    token = signing.sign("confirm", {"id": 7, "nonce": "abc"}, expires=TWO_DAYS)
    place %= len(token)
    changed = token[:place] + char + token[place + 1 :]
    if changed != token:
        with pytest.raises(TokenError):
            signing.read("confirm", changed, now=NOW)


@given(KEYS, SECRETS)
def test_a_link_token_opens_its_row(pk: int, secret: str) -> None:
    token = signing.link_token(pk, secret, "manage")
    assert signing.link_pk(token) == pk
    signing.check_link(token, secret=secret, purpose="manage")


@given(KEYS, SECRETS, SECRETS)
def test_a_link_token_needs_secret_purpose_and_row(pk: int, secret: str, other: str) -> None:
    token = signing.link_token(pk, secret, "manage")
    wrong = [
        (token, secret, "unsubscribe"),
        (token.replace(f"{pk}-", f"{pk + 1}-", 1), secret, "manage"),
        (token[:-1] + ("0" if token[-1] != "0" else "1"), secret, "manage"),
    ]
    if other != secret:
        wrong.append((token, other, "manage"))
    for attempt, key, purpose in wrong:
        with pytest.raises(TokenError):
            signing.check_link(attempt, secret=key, purpose=purpose)


def test_a_link_token_does_not_depend_on_secret_key() -> None:
    with override_settings(SECRET_KEY="old" * 20):
        token = signing.link_token(7, "secret", "unsubscribe")
    with override_settings(SECRET_KEY="new" * 20):
        signing.check_link(token, secret="secret", purpose="unsubscribe")


@pytest.mark.parametrize(
    "token",
    ["", "7", "7-", "-abc", "7-" + "g" * 32, "07-" + "a" * 32, "9" * 30 + "-" + "a" * 32, "٧-" + "a" * 32],
)
def test_nonsense_is_no_link_token(token: str) -> None:
    with pytest.raises(TokenError, match="incomplete"):
        signing.link_pk(token)


def test_a_stamp_is_good_for_its_text_and_purpose_only_in_any_case() -> None:
    made = signing.stamp("bounce", "7")
    assert signing.is_stamp("bounce", "7", made.upper())
    others = [("bounce", "8", made), ("other", "7", made), ("bounce", "7", made[:-1]), ("bounce", "7", "ž")]
    assert not any(signing.is_stamp(*other) for other in others)


def test_a_stamp_outlives_a_change_of_the_key_as_long_as_the_old_one_is_kept(settings: Any) -> None:
    made = signing.stamp("bounce", "7")
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another"
    assert signing.is_stamp("bounce", "7", made)
    settings.SECRET_KEY_FALLBACKS = []
    assert not signing.is_stamp("bounce", "7", made)


def path_of(url: str) -> str:
    return re.sub(r"^https?://[^/]+", "", url)


@pytest.mark.django_db
@pytest.mark.parametrize("tail", TAILS)
def test_a_link_with_a_tail_opens_its_page_and_takes_a_one_click_post(tail: str) -> None:
    subscription: Subscription = SubscriptionFactory()
    client = Client(enforce_csrf_checks=True)
    for url in (unsubscribe_url(subscription), manage_url(subscription)):
        assert client.get(path_of(url).rstrip("/") + tail).status_code == 200, url
    left = path_of(unsubscribe_url(subscription)).rstrip("/") + tail
    assert client.post(left, {"List-Unsubscribe": "One-Click"}).status_code == 200
    subscription.refresh_from_db()
    assert subscription.status == Subscription.Status.UNSUBSCRIBED


@given(TOKENS, st.sampled_from(sorted(PAGES)), st.text(max_size=20), st.booleans())
def test_a_tail_changes_no_token(token: str, name: str, tail: str, slash: bool) -> None:
    parameter = PAGES[name]
    given_ = {parameter: token} | ({"uidb36": "1"} if "password" in name else {})
    path = reverse(name, kwargs=given_)
    assert resolve(path).kwargs == given_
    if not re.match(r"[A-Za-z0-9_./-]", tail):
        match = resolve(path if slash else path.rstrip("/") + tail)
        assert match.kwargs == given_
        assert match.func == resolve(path).func


@pytest.mark.parametrize("after", ["more/", "more", "/"])
def test_another_path_behind_a_token_is_no_page(after: str) -> None:
    with pytest.raises(Resolver404):
        resolve(f"/manage/1-abc/{after}")


def test_a_field_of_an_older_link_loses_its_tail() -> None:
    assert without_tail(" a:b_c-> ).") == "a:b_c-"
