"""Links with a token open their page, whatever a mail program added to the URL."""

import re

import pytest
from django.test import Client
from django.urls import Resolver404, resolve, reverse
from hypothesis import given
from hypothesis import strategies as st

from common.signing import without_tail
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
