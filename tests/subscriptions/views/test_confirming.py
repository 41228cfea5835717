"""Confirmation pages: of one newsletter, of several, and with a first issue to read."""

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
    done = client.post(there, follow=True).content.decode()
    assert done.count("/manage/") == 2
    assert set(Subscription.objects.values_list("status", flat=True)) == {"confirmed"}


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_the_latest_issue_can_be_read_at_once(client: Client, visibility: str) -> None:
    waiting = UnconfirmedFactory(subscribable__welcome="latest", subscribable__visibility=visibility)
    issue = an_issue(subscribable=waiting.subscribable, title="The first issue", posts=2)
    page = client.post(path(waiting), follow=True).content.decode()
    assert "The first issue" in page
    assert page.count("The text of post") == 2
    assert (f"/archive/{issue.pk}/" in page) == (visibility == "public")


def test_the_page_says_what_comes_when_and_a_reload_sends_nothing_again(client: Client) -> None:
    waiting = UnconfirmedFactory(subscribable__arrangement="weekly", subscribable__weekday=0)
    an_issue(subscribable=waiting.subscribable, title="The first issue")
    answer: Any = client.post(path(waiting), follow=True)
    assert [code for _, code in answer.redirect_chain] == [303]
    page = answer.content.decode()
    assert "You’re subscribed" in page
    assert "The first issue" in page
    assert "You’ll get the next issue on <strong>Monday, " in page


def test_a_newsletter_without_issues_welcomes_all_the_same(client: Client) -> None:
    waiting = UnconfirmedFactory(subscribable__welcome="latest")
    answer: Any = client.post(path(waiting), follow=True)
    assert answer.status_code == 200
    assert "The latest issue" not in answer.content.decode()
