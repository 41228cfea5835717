"""The pages of a confirmation: of one newsletter, of several, and what is to be read at once."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from subscriptions import links
from subscriptions.models import Subscription
from tests.factories import DestinationFactory, UnconfirmedFactory, an_issue

pytestmark = pytest.mark.django_db


def path(*waiting: Subscription) -> str:
    return "/" + links.confirm_url(*waiting, now=timezone.now()).split("/", 3)[3]


def test_several_are_named_and_confirmed_together(client: Client) -> None:
    reader = DestinationFactory()
    waiting = [UnconfirmedFactory(destination=reader, subscribable__title=title) for title in ("One", "Two")]
    there = path(*waiting)
    shown = client.get(there).content.decode()
    assert "One" in shown
    assert "Two" in shown
    done = client.post(there).content.decode()
    assert done.count("/manage/") == 2
    assert set(Subscription.objects.values_list("status", flat=True)) == {"confirmed"}


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_the_latest_issue_can_be_read_at_once_if_the_admin_wishes(client: Client, visibility: str) -> None:
    waiting = UnconfirmedFactory(subscribable__welcome="latest", subscribable__visibility=visibility)
    issue = an_issue(subscribable=waiting.subscribable, title="The first issue", posts=2)
    page = client.post(path(waiting)).content.decode()
    assert "The first issue" in page
    assert page.count("The text of post") == 2
    assert (f"/archive/{issue.pk}/" in page) == (visibility == "public")


@pytest.mark.parametrize("wish", ["none", "words"])
def test_otherwise_the_page_says_what_there_is_to_say(client: Client, wish: str) -> None:
    waiting = UnconfirmedFactory(subscribable__welcome=wish)
    an_issue(subscribable=waiting.subscribable, title="The first issue")
    page = client.post(path(waiting)).content.decode()
    assert "You are in" in page
    assert "The first issue" not in page


def test_a_newsletter_without_issues_welcomes_all_the_same(client: Client) -> None:
    waiting = UnconfirmedFactory(subscribable__welcome="latest")
    answer: Any = client.post(path(waiting))
    assert answer.status_code == 200
    assert "The latest issue" not in answer.content.decode()
