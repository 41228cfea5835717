"""A series: emails for each new subscriber, days apart, each once."""

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from channels.base import Sent
from common.ports.panels import CannotAct
from delivery.issues.broadcasts import LetterText, save_letter, schedule_letter, send_letter
from delivery.issues.draft_edits import rewrite_letter
from delivery.issues.pause import cancel_delivery, cancel_issue, pause_newsletter, resume_newsletter
from delivery.issues.publish import late_subscribers, publish
from delivery.issues.reach import reach_of
from delivery.issues.send_series import begin_for, send_series
from delivery.issues.series import (
    add_email,
    add_posts,
    archived_posts,
    emails_of,
    move_email,
    remove_email,
    set_days,
    switch_on,
    take_email,
)
from delivery.models import Broadcast, Delivery, Issue
from delivery.privacy.retention import prune_old_data
from delivery.work import to_complete
from feeds.models import ItemVersion
from feeds.parsing.entry import Entry
from subscriptions.models import Notice, SeriesRun, Subscribable, Subscription
from subscriptions.newsletters.define import alter_subscribable
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.frequency import switch
from subscriptions.subscribers.leave import leave, undo_leaving
from subscriptions.subscribers.sign_up import confirm_waiting
from tests.delivery.ledger import HOUR, MINUTE, claimed, ended
from tests.factories import (
    NOW,
    DestinationFactory,
    IssueFactory,
    IssueItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
SEVEN = {"series_at": time(7), "time_zone": "UTC"}


def a_series(count: int = 3, **facts: Any) -> Subscribable:
    newsletter: Subscribable = SubscribableFactory(**{"welcome": "series", **SEVEN, **facts})
    for number in range(1, count + 1):
        letter = add_email(
            newsletter=newsletter, author="ada", now=NOW, subject=f"Lesson {number}", markdown="Hi"
        )
        switch_on(letter_id=letter.pk, version=letter.version, now=NOW)
    return newsletter


def joined(newsletter: Subscribable, *, now: datetime = NOW, zone: str = "") -> Subscription:
    row: Subscription = UnconfirmedFactory(subscribable=newsletter)
    confirm_waiting([row], now=now, origin=Origin(zone=zone))
    return row


def passed(now: datetime, *, sends: bool = True) -> None:
    """Run a pass, and send what it queued."""
    send_series(clock=lambda: now)
    if sends and Delivery.objects.waiting().exists():
        ended(Sent(), *claimed(now=now), at=now)


def over(days: Sequence[int], *, start: datetime = NOW) -> None:
    """Run a pass every hour of these days in which there may be something to do."""
    for now in (start + day * DAY + hour * HOUR for day in days for hour in range(24)):
        if SeriesRun.objects.filter(due_at__lte=now).exists() or Delivery.objects.due(now).exists():
            passed(now)


def got(row: Subscription) -> list[tuple[str, datetime]]:
    rows = Delivery.objects.filter(destination=row.destination, state="sent", kind="issue").order_by(
        "sent_at"
    )
    return [(subject, at) for subject, at in rows.values_list("issue__subject", "sent_at") if at]


def subjects(row: Subscription) -> list[str]:
    return [subject for subject, _ in got(row)]


def test_the_first_comes_at_once_and_the_others_at_their_hour() -> None:
    ada = joined(a_series())
    over(range(4))
    assert got(ada) == [
        ("Lesson 1", NOW),
        ("Lesson 2", NOW.replace(hour=7) + DAY),
        ("Lesson 3", NOW.replace(hour=7) + 2 * DAY),
    ]
    assert SeriesRun.objects.get().ended_at is not None
    assert not any(question.exists() for question in to_complete(NOW + 9 * DAY)[-1:])
    assert not Notice.objects.exists(), "no other welcome"


def test_the_hour_is_that_of_the_subscribers_browser() -> None:
    newsletter = a_series()
    ada, bob = joined(newsletter, zone="America/New_York"), joined(newsletter, zone="Nowhere/At_All")
    over(range(2))
    assert got(ada)[1][1] == NOW.replace(hour=12) + DAY
    assert got(bob)[1][1] == NOW.replace(hour=7) + DAY, "the newsletter's"


def test_nobody_is_in_a_series_who_was_there_before_until_an_admin_begins_it() -> None:
    newsletter = a_series()
    ada = SubscriptionFactory(subscribable=newsletter)
    over(range(2))
    assert not got(ada)
    begin_for(subscription=ada, now=NOW + 2 * DAY)
    over(range(2, 5))
    assert subjects(ada) == ["Lesson 1", "Lesson 2", "Lesson 3"]
    begin_for(subscription=ada, now=NOW + 9 * DAY)
    over(range(9, 12))
    assert len(got(ada)) == 3, "each once"


def test_only_confirmed_subscribers_of_a_newsletter_with_a_series_can_begin_it() -> None:
    with pytest.raises(CannotAct, match="has no series"):
        begin_for(subscription=SubscriptionFactory(), now=NOW)
    with pytest.raises(CannotAct, match="Only somebody"):
        begin_for(subscription=UnconfirmedFactory(subscribable=a_series()), now=NOW)


def test_an_email_of_a_series_goes_to_nobody_else_and_has_no_page() -> None:
    newsletter = a_series(1)
    SubscriptionFactory(subscribable=newsletter, confirmed_at=NOW + HOUR)
    issue = Issue.objects.get()
    assert not issue.has_page
    assert not late_subscribers(issue).exists()
    assert publish(issue_id=issue.pk, now=NOW) == 0
    letter = Broadcast.objects.get()
    with pytest.raises(CannotAct, match="belongs to the series"):
        send_letter(letter_id=letter.pk, version=letter.version, now=NOW)


def test_it_has_no_date_as_it_is_sent_for_years() -> None:
    newsletter = a_series(1)
    add_posts(newsletter=newsletter, posts=an_archive(newsletter, 1), author="ada", now=NOW)
    for issue in Issue.objects.filter(audience__has_key="series"):
        assert "March 2026" not in issue.html + issue.text


def test_a_draft_of_a_series_cannot_be_sent_to_all() -> None:
    letter = add_email(newsletter=a_series(0), author="ada", now=NOW, subject="Lesson", markdown="Hi")
    for act in (lambda: send_letter(letter_id=letter.pk, version=1, now=NOW),
                lambda: schedule_letter(letter_id=letter.pk, at=NOW + DAY, version=1, now=NOW)):  # fmt: skip
        with pytest.raises(CannotAct, match="belongs to the series"):
            act()
    remove_email(letter_id=letter.pk)
    letter.refresh_from_db()
    assert (letter.state, letter.audience) == ("draft", {})


def test_a_draft_is_passed_over() -> None:
    newsletter = a_series(1)
    add_email(newsletter=newsletter, author="ada", now=NOW, subject="Unfinished")
    ada = joined(newsletter)
    over(range(2))
    assert subjects(ada) == ["Lesson 1"]
    assert SeriesRun.objects.get().ended_at is not None


def test_an_empty_email_cannot_be_switched_on() -> None:
    letter = add_email(newsletter=a_series(0), author="ada", now=NOW, subject="Lesson")
    with pytest.raises(CannotAct, match="no text"):
        switch_on(letter_id=letter.pk, version=letter.version, now=NOW)


def test_a_changed_email_is_what_later_subscribers_get() -> None:
    newsletter = a_series(1)
    ada = joined(newsletter)
    passed(NOW)
    letter = Broadcast.objects.get()
    rewrite_letter(letter_id=letter.pk, text=LetterText("Lesson one", "Better"), version=1, now=NOW + HOUR)
    bob = joined(newsletter, now=NOW + 2 * HOUR)
    passed(NOW + 2 * HOUR)
    versions = dict(Delivery.objects.values_list("subscription", "version"))
    assert versions == {ada.pk: 0, bob.pk: 1}


def test_it_can_be_changed_while_somebody_gets_it() -> None:
    newsletter = a_series(1)
    joined(newsletter)
    passed(NOW, sends=False)
    letter = Broadcast.objects.get()
    rewrite_letter(letter_id=letter.pk, text=LetterText("Lesson one", "Better"), version=1, now=NOW)
    assert Delivery.objects.get().version == 1


def test_who_pauses_gets_the_next_one_afterwards() -> None:
    ada = joined(a_series())
    passed(NOW)
    Subscription.objects.filter(pk=ada.pk).update(paused_until=NOW + 5 * DAY)
    over(range(8))
    assert [at - NOW.replace(hour=7) for _, at in got(ada)[1:]] == [6 * DAY, 7 * DAY]


def test_an_email_that_a_pause_cancelled_is_sent_after_it() -> None:
    ada = joined(a_series(2))
    passed(NOW, sends=False)
    Subscription.objects.filter(pk=ada.pk).update(paused_until=NOW + 2 * DAY)
    over(range(5), start=NOW + MINUTE)
    assert subjects(ada) == ["Lesson 1", "Lesson 2"]
    assert got(ada)[0][1] >= NOW + 2 * DAY


def test_all_that_a_pause_cancelled_is_repeated_in_order() -> None:
    """After a restore several emails are let go at once."""
    ada = joined(a_series(2))
    over(range(2))
    assert len(got(ada)) == 2
    SeriesRun.objects.update(ended_at=None, due_at=NOW + 3 * DAY)
    Delivery.objects.update(state="cancelled", sent_at=None, last_error="Paused until 2026-03-04.")
    over(range(3, 5))
    assert subjects(ada) == ["Lesson 1", "Lesson 2"]


def test_what_a_pause_cancelled_at_an_earlier_address_arrives_at_the_present_one() -> None:
    ada = joined(a_series(2))
    passed(NOW, sends=False)
    Subscription.objects.filter(pk=ada.pk).update(paused_until=NOW + 2 * DAY)
    over([0])
    ada.destination = DestinationFactory()
    ada.save(update_fields=["destination"])
    over(range(1, 6))
    assert subjects(ada) == ["Lesson 1", "Lesson 2"]
    assert Delivery.objects.filter(state="sent").count() == 2


def test_what_waits_at_an_earlier_address_is_waited_for() -> None:
    ada = joined(a_series(2))
    passed(NOW, sends=False)
    Subscription.objects.filter(pk=ada.pk).update(destination=DestinationFactory())
    passed(NOW + 2 * DAY, sends=False)
    assert Delivery.objects.count() == 1
    over(range(2, 5))
    assert Delivery.objects.filter(state="sent").count() == 2


def test_a_cancelled_email_that_was_removed_is_not_repeated() -> None:
    ada = joined(a_series(2))
    passed(NOW, sends=False)
    Subscription.objects.filter(pk=ada.pk).update(paused_until=NOW + 2 * DAY)
    over([0])
    remove_email(letter_id=Broadcast.objects.earliest("pk").pk)
    over(range(1, 6))
    assert subjects(ada) == ["Lesson 2"]


def test_what_an_admin_cancelled_is_not_sent_again() -> None:
    ada = joined(a_series(2))
    passed(NOW, sends=False)
    cancel_delivery(delivery=Delivery.objects.get())
    over(range(3))
    assert subjects(ada) == ["Lesson 2"]


def test_leaving_ends_it_and_coming_back_goes_on() -> None:
    newsletter = a_series()
    ada = joined(newsletter)
    passed(NOW)
    leave(subscription=ada, now=NOW + HOUR, by_reader=True)
    over(range(4))
    assert subjects(ada) == ["Lesson 1"]
    assert SeriesRun.objects.get().due_at is None, "nobody looks at it any more"
    ada.refresh_from_db()
    ada.status = "unconfirmed"
    confirm_waiting([ada], now=NOW + 9 * DAY, origin=Origin())
    over(range(9, 13))
    assert subjects(ada) == ["Lesson 1", "Lesson 2", "Lesson 3"]


def test_leaving_can_be_undone() -> None:
    ada = joined(a_series())
    passed(NOW)
    leave(subscription=ada, now=NOW + HOUR, by_reader=True)
    over([0])
    assert undo_leaving(subscription=ada, now=NOW + 24 * HOUR)
    over(range(1, 4))
    assert subjects(ada) == ["Lesson 1", "Lesson 2", "Lesson 3"]


def test_who_switches_gets_the_rest_by_the_other_newsletter() -> None:
    newsletter = a_series(arrangement="daily")
    weekly = SubscribableFactory(arrangement="weekly", feeds=list(newsletter.feeds.all()), welcome="series")
    ada = joined(newsletter)
    passed(NOW)
    switch(subscription=ada, to=weekly, now=NOW + HOUR, at_once=True)
    over(range(4))
    assert subjects(ada) == ["Lesson 1", "Lesson 2", "Lesson 3"]
    now = Delivery.objects.order_by("-pk").values_list("subscription__subscribable", flat=True)[0]
    assert now == weekly.pk
    assert SeriesRun.objects.count() == 1, "not the series of the other one"


def test_the_newsletter_begins_after_the_series_if_wished() -> None:
    newsletter = a_series(2, series_first=True)
    ada, old = joined(newsletter), SubscriptionFactory(subscribable=newsletter)
    passed(NOW)
    first = IssueFactory(subscribable=newsletter, published_at=None)
    publish(issue_id=first.pk, now=NOW + HOUR)
    assert list(first.deliveries.values_list("subscription", flat=True)) == [old.pk]
    reached = reach_of(ada, now=NOW + 2 * HOUR)
    assert reached.sentence.startswith(
        "Gets nothing yet: gets the series first, and the newsletter after it."
    )
    over(range(3))
    second = IssueFactory(subscribable=newsletter, published_at=None)
    publish(issue_id=second.pk, now=NOW + 3 * DAY)
    assert second.deliveries.filter(subscription=ada).exists()


def test_with_it_is_the_usual_way() -> None:
    newsletter = a_series(2)
    ada = joined(newsletter)
    passed(NOW)
    issue = IssueFactory(subscribable=newsletter, published_at=None)
    publish(issue_id=issue.pk, now=NOW + HOUR)
    assert issue.deliveries.filter(subscription=ada).exists()


def test_emails_can_be_moved_removed_and_put_back() -> None:
    newsletter = a_series()
    first, second, third = emails_of(newsletter)
    move_email(letter_id=third.pk, way="up")
    assert [row.pk for row in emails_of(newsletter)] == [first.pk, third.pk, second.pk]
    remove_email(letter_id=third.pk)
    assert [row.pk for row in emails_of(newsletter)] == [first.pk, second.pk]
    take_email(letter_id=third.pk, days=5, now=NOW)
    assert [row.pk for row in emails_of(newsletter)] == [first.pk, second.pk, third.pk]


def test_fewer_days_count_for_those_who_wait() -> None:
    newsletter = a_series(2)
    last = emails_of(newsletter)[1]
    set_days(letter_id=last.pk, days=30, now=NOW)
    ada = joined(newsletter)
    over(range(2))
    set_days(letter_id=last.pk, days=3, now=NOW + 2 * DAY)
    over(range(2, 5))
    assert got(ada)[1][1] == NOW.replace(hour=7) + 3 * DAY
    with pytest.raises(CannotAct, match="0 to 365"):
        set_days(letter_id=last.pk, days=366, now=NOW)


def test_nothing_is_sent_while_it_is_off_stopped_or_paused() -> None:
    newsletter = a_series(1)
    ada = joined(newsletter)
    Subscribable.objects.update(welcome="none")
    passed(NOW)
    Subscribable.objects.update(welcome="series", stopped=True)
    passed(NOW)
    Subscribable.objects.update(stopped=False)
    pause_newsletter(subscribable_id=newsletter.pk, reason="", now=NOW)
    passed(NOW)
    assert not got(ada)
    resume_newsletter(subscribable_id=newsletter.pk, now=NOW + HOUR)
    passed(NOW + HOUR)
    assert subjects(ada) == ["Lesson 1"]


def test_a_cancelled_email_is_left_out() -> None:
    newsletter = a_series()
    cancel_issue(issue_id=emails_of(newsletter)[1].issue_id or 0, now=NOW)
    ada = joined(newsletter)
    over(range(3))
    assert subjects(ada) == ["Lesson 1", "Lesson 3"]


def test_emails_of_a_series_are_not_forgotten_as_old_ones() -> None:
    newsletter = a_series(2)
    remove_email(letter_id=emails_of(newsletter)[1].pk)
    prune_old_data(now=NOW + 900 * DAY)
    ada = joined(newsletter, now=NOW + 900 * DAY)
    passed(NOW + 900 * DAY)
    assert subjects(ada) == ["Lesson 1"]
    with pytest.raises(CannotAct, match="was deleted"):
        take_email(letter_id=Broadcast.objects.get(series_place=None).pk, days=None, now=NOW)


# --- posts of the archive


def an_archive(newsletter: Subscribable, count: int = 2) -> list[Any]:
    issues = [IssueFactory(subscribable=newsletter, published_at=NOW - n * DAY) for n in range(count, 0, -1)]
    return [IssueItemFactory(issue=issue, item__title=f"Old {n}") for n, issue in enumerate(issues, 1)]


def test_posts_of_the_archive_are_a_course() -> None:
    newsletter = a_series(0)
    an_archive(newsletter)
    posts = list(archived_posts(newsletter))
    assert add_posts(newsletter=newsletter, posts=posts, author="ada", now=NOW) == 2
    assert add_posts(newsletter=newsletter, posts=posts, author="ada", now=NOW) == 0, "each once"
    ada = joined(newsletter)
    over(range(2))
    assert subjects(ada) == ["Old 1", "Old 2"]
    html = Issue.objects.filter(subject="Old 1").get().html
    assert posts[0].entry["link"] in html


def test_a_post_that_somebody_got_before_is_left_out() -> None:
    newsletter = a_series(0)
    old, _ = an_archive(newsletter)
    ada = SubscriptionFactory(subscribable=newsletter)
    Issue.objects.filter(pk=old.issue_id).update(published_at=None)
    publish(issue_id=old.issue_id, now=NOW)
    ended(Sent(), *claimed(now=NOW))
    add_posts(newsletter=newsletter, posts=list(archived_posts(newsletter)), author="ada", now=NOW)
    begin_for(subscription=ada, now=NOW)
    over(range(3))
    assert len(got(ada)) == 2
    assert {subject for subject, _ in got(ada)} >= {"Old 2"}
    assert Issue.objects.get(subject="Old 1", audience__has_key="series").deliveries.count() == 0


def test_a_correction_of_the_feed_is_in_the_series() -> None:
    newsletter = a_series(0)
    (old,) = an_archive(newsletter, 1)
    add_posts(newsletter=newsletter, posts=[old], author="ada", now=NOW)
    better = Entry.from_json({**old.entry, "title": "Old one, corrected"})
    ItemVersion.objects.create(item=old.item, seen_at=NOW + HOUR, entry=better.to_json())
    joined(newsletter, now=NOW + 2 * HOUR)
    passed(NOW + 2 * HOUR)
    issue = Issue.objects.get(audience__has_key="series")
    assert (issue.subject, issue.version) == ("Old one, corrected", 1)
    assert Delivery.objects.get().version == 1
    send_series(clock=lambda: NOW + 3 * HOUR)
    issue.refresh_from_db()
    assert issue.version == 1, "once"


def test_only_newsletters_by_email_have_a_series() -> None:
    with pytest.raises(ValidationError, match="by email"):
        alter_subscribable(subscribable=SubscribableFactory(channel="sms"), welcome="series")


def test_a_saved_draft_keeps_its_place() -> None:
    letter = add_email(newsletter=a_series(1), author="ada", now=NOW, subject="Lesson")
    save_letter(letter_id=letter.pk, subject="New", markdown="Words", version=1, now=NOW)
    letter.refresh_from_db()
    assert (letter.series_place, letter.series_days, letter.state) == (2, 1, "series")
