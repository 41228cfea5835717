"""The URLs for readers."""

import pytest
from django.test import override_settings

from common.signing import TokenError
from subscriptions import links
from tests.factories import NOW, SubscriptionFactory, UnconfirmedFactory

pytestmark = pytest.mark.django_db


def token_of(url: str) -> str:
    return url.rstrip("/").rpartition("/")[2]


@override_settings(SITE_URL="https://letters.example.org")
def test_links_are_absolute_under_site_url() -> None:
    subscription = UnconfirmedFactory()
    assert links.unsubscribe_url(subscription).startswith("https://letters.example.org/unsubscribe/")
    assert links.manage_url(subscription).startswith("https://letters.example.org/manage/")
    assert links.confirm_url(subscription, now=NOW).startswith("https://letters.example.org/confirm/")


def test_the_fast_way_makes_the_same_links() -> None:
    subscription = SubscriptionFactory()
    values = (subscription.pk, subscription.token)
    assert links.unsubscribe_url_for(*values) == links.unsubscribe_url(subscription)
    assert links.manage_url_for(*values) == links.manage_url(subscription)


def test_a_link_finds_its_own_subscription_and_no_other() -> None:
    mine, other = SubscriptionFactory(), SubscriptionFactory()
    token = token_of(links.manage_url(mine))
    assert links.find(token, links.MANAGE) == mine
    with pytest.raises(TokenError):
        links.find(token.replace(f"{mine.pk}-", f"{other.pk}-", 1), links.MANAGE)
    with pytest.raises(TokenError):
        links.find(token, links.UNSUBSCRIBE)


def test_a_link_lives_until_its_token_is_replaced() -> None:
    subscription = SubscriptionFactory()
    token = token_of(links.unsubscribe_url(subscription))
    with override_settings(SECRET_KEY="another" * 10):
        assert links.find(token, links.UNSUBSCRIBE) == subscription
    subscription.token = "revoked"
    subscription.save()
    with pytest.raises(TokenError):
        links.find(token, links.UNSUBSCRIBE)


def test_a_link_of_a_deleted_subscription_says_that_it_is_gone() -> None:
    subscription = SubscriptionFactory()
    token = token_of(links.manage_url(subscription))
    subscription.delete()
    with pytest.raises(TokenError, match="no longer exists"):
        links.find(token, links.MANAGE)
