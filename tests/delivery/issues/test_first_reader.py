"""A new newsletter's first issue waits for its first subscriber, and goes to that reader once."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from common.ports.panels import CannotAct
from delivery.issues.complete import complete_collection, complete_due
from delivery.issues.publish import (
    WAITS_AT_MOST,
    approve_issue,
    discard_issue,
    drafts,
    release_issue,
    release_waiting,
    restore_issue,
)
from delivery.letters.notices import take_notices
from delivery.models import Delivery, Issue
from delivery.work import to_complete
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import define_subscribable
from subscriptions.subscribers.sign_up import mark_confirmed
from tests.delivery.collecting import DAY, HOUR, MIDNIGHT, collect
from tests.factories import NOW, FeedFactory, NoticeFactory, SubscriptionFactory, UnconfirmedFactory
from tests.races import beside

pytestmark = pytest.mark.django_db
at_once = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")


def a_new_one(**facts: Any) -> Subscribable:
    return define_subscribable(name="new", feeds=[FeedFactory(fetched_through=MIDNIGHT + HOUR)], **facts)


def made(newsletter: Subscribable, at: Any = NOW, posts: int = 1) -> list[Issue]:
    """Add that many posts; return all issues, oldest first."""
    collect(newsletter, posts, now=at)
    complete_due(clock=lambda: at)
    return list(newsletter.issues.order_by("pk"))


def reader_of(newsletter: Subscribable, **facts: Any) -> Any:
    return SubscriptionFactory(subscribable=newsletter, **facts)


def told() -> list[tuple[int, str]]:
    return list(Delivery.objects.order_by("pk").values_list("issue", "destination__core"))


def test_the_first_issue_waits_and_goes_to_the_first_who_confirms_and_only_to_them() -> None:
    newsletter = a_new_one()
    (issue,) = made(newsletter)
    assert (issue.published_at, issue.awaits_reader) == (None, True)
    UnconfirmedFactory(subscribable=newsletter)
    complete_due(clock=lambda: NOW + HOUR)
    assert told() == []
    first = reader_of(newsletter)
    assert any(rows.exists() for rows in to_complete(NOW + HOUR))
    complete_due(clock=lambda: NOW + HOUR)
    complete_due(clock=lambda: NOW + HOUR)
    reader_of(newsletter)
    complete_due(clock=lambda: NOW + 2 * HOUR)
    assert told() == [(issue.pk, first.destination.core)]
    issue.refresh_from_db()
    newsletter.refresh_from_db()
    assert (issue.published_at, newsletter.awaits_first_reader) == (NOW + HOUR, False)


def test_of_several_the_newest_waits_and_those_before_stand_in_the_archive() -> None:
    newsletter = a_new_one()
    older, newest = made(newsletter, posts=2)
    assert (older.published_at, newest.published_at) == (NOW, None)
    reader_of(newsletter)
    complete_due(clock=lambda: NOW + HOUR)
    assert [issue for issue, _ in told()] == [newest.pk]


def test_once_there_was_a_reader_nothing_waits_any_more() -> None:
    newsletter = a_new_one()
    reader = reader_of(newsletter)
    made(newsletter)
    reader.delete()
    *_, second = made(newsletter, NOW + DAY)
    assert (second.published_at, second.awaits_reader) == (NOW + DAY, False)


def test_a_newsletter_from_before_publishes_as_ever() -> None:
    newsletter = a_new_one()
    Subscribable.objects.update(awaits_first_reader=False)
    (issue,) = made(newsletter)
    assert issue.published_at == NOW


def test_after_a_month_it_stands_in_the_archive_and_no_reader_gets_it() -> None:
    newsletter = a_new_one()
    (issue,) = made(newsletter)
    complete_due(clock=lambda: NOW + WAITS_AT_MOST)
    reader_of(newsletter)
    complete_due(clock=lambda: NOW + WAITS_AT_MOST + HOUR)
    issue.refresh_from_db()
    assert issue.published_at == NOW + WAITS_AT_MOST
    assert told() == []


def test_what_is_approved_waits_and_is_no_draft_any_more() -> None:
    newsletter = a_new_one(approval="click")
    (issue,) = made(newsletter)
    assert approve_issue(issue_id=issue.pk, now=NOW) == 0
    assert not drafts().exists()
    with pytest.raises(CannotAct, match="waits for the first subscriber"):
        approve_issue(issue_id=issue.pk, now=NOW)
    discard_issue(issue_id=issue.pk, now=NOW)
    reader_of(newsletter)
    assert release_waiting(clock=lambda: NOW) == 0
    restore_issue(issue_id=issue.pk)
    assert drafts().get() == issue


def test_a_welcome_with_the_latest_issue_is_the_one_that_waited() -> None:
    newsletter = a_new_one(welcome="latest")
    _, newest = made(newsletter, posts=2)
    reader = reader_of(newsletter)
    NoticeFactory(kind="welcome", template="latest", subscription=reader, context={"newsletter": "New"})
    take_notices(now=NOW)
    complete_due(clock=lambda: NOW)
    assert told() == [(newest.pk, reader.destination.core)]


def test_its_pages_say_so(admin_client: Client) -> None:
    newsletter = a_new_one(title="News")
    older, newest = made(newsletter, posts=2)
    page = admin_client.get(f"/admin/subscriptions/subscribable/{newsletter.pk}/change/").content.decode()
    assert "Waits for its first subscriber" in page
    assert f"/admin/delivery/issue/{newest.pk}/" in page
    page = admin_client.get(f"/admin/delivery/issue/{newest.pk}/change/").content.decode()
    assert "As soon as the first subscriber confirms" in page
    assert "Approve and send" not in page
    page = admin_client.get(f"/admin/delivery/issue/{older.pk}/change/").content.decode()
    assert "In the archive only" in page
    rows = admin_client.get("/admin/delivery/issue/?state=waiting").content.decode()
    assert f"issue/{newest.pk}/" in rows
    assert f"issue/{older.pk}/" not in rows


@at_once
@pytest.mark.django_db(transaction=True)
def test_two_releases_beside_each_other_send_once() -> None:
    newsletter = a_new_one()
    (issue,) = made(newsletter)
    reader_of(newsletter)

    def release() -> bool:
        return release_issue(issue_id=issue.pk, now=NOW)

    assert beside(release, release) == (True, False)
    assert len(told()) == 1


@at_once
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_release_first", [True, False])
def test_a_newer_issue_beside_the_release_of_the_older_leaves_no_letter_out(is_release_first: bool) -> None:
    newsletter = a_new_one()
    (issue,) = made(newsletter)
    collect(newsletter, now=NOW + HOUR)
    reader_of(newsletter)

    def release() -> bool:
        return release_issue(issue_id=issue.pk, now=NOW + HOUR)

    def newer() -> int:
        return complete_collection(assignable_id=newsletter.assignables.get().pk, now=NOW + HOUR)

    beside(release, newer) if is_release_first else beside(newer, release)
    newest = newsletter.issues.latest("pk")
    expected = [issue.pk, newest.pk] if is_release_first else [newest.pk]
    assert [key for key, _ in told()] == expected


@at_once
@pytest.mark.django_db(transaction=True)
def test_a_confirmation_beside_the_making_is_found_at_the_next_look() -> None:
    newsletter = a_new_one()
    reader = UnconfirmedFactory(subscribable=newsletter)
    collect(newsletter)

    def make() -> int:
        return complete_collection(assignable_id=newsletter.assignables.get().pk, now=NOW)

    beside(lambda: mark_confirmed(reader, now=NOW), make, blocks=False)
    assert told() == []
    complete_due(clock=lambda: NOW + timedelta(seconds=1))
    complete_due(clock=lambda: NOW + timedelta(seconds=2))
    assert len(told()) == 1


def test_its_page_does_not_wait_for_a_reader_who_is_there(admin_client: Client) -> None:
    newsletter = a_new_one(title="News")
    reader_of(newsletter)
    page = admin_client.get(f"/admin/subscriptions/subscribable/{newsletter.pk}/change/").content.decode()
    assert "Waits for its first subscriber" not in page
