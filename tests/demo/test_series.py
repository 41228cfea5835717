"""The demo's newsletter has a series: two emails, then two posts of its archive."""

from datetime import datetime, time, timedelta

import pytest

from delivery.issues.send_series import send_series
from delivery.issues.series import emails_of
from delivery.models import Delivery
from demo.content import BLOG_POSTS
from demo.content.post import ZONE
from demo.dressing import SERIES_DAYS, SERIES_EMAILS, SERIES_POSTS, begin_series, extend_series
from demo.history import EVERY_NEWCOMER, EXTENDED_FROM, History, Person
from demo.newsletters import define_all
from subscriptions.models import SeriesRun
from tests.demo.test_demo import NOW, TODAY
from tests.factories import FeedFactory, IssueFactory, IssueItemFactory, ItemFactory

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize("day", range(7))
def test_an_issue_has_the_posts_before_they_are_added_whatever_day_it_is(day: int) -> None:
    today = TODAY + day * DAY
    midnight = datetime.combine(today, time(0, 1), ZONE)
    for post in BLOG_POSTS:
        if post.title in SERIES_POSTS:
            settled = post.published(today) + HOUR
            hours = [settled + hour * HOUR for hour in range((midnight - EXTENDED_FROM - settled) // HOUR)]
            assert any((hour.weekday(), hour.hour) == (0, 6) for hour in hours)


@pytest.mark.slow
@pytest.mark.django_db
def test_newcomers_get_the_first_email_at_once_and_others_none() -> None:
    newsletters = {row.name: row for row in define_all(FeedFactory(), now=NOW)}
    newsletters["harbour-weekly"] = begin_series(newsletters["harbour-weekly"], NOW - 30 * DAY)
    history = History(newsletters, NOW, with_bridges=False)
    for number, age in ((EVERY_NEWCOMER - 1, 40), (EVERY_NEWCOMER - 1, 3), (0, 2)):
        person = Person(f"P {age}", f"p{age}@example.org", ("harbour-weekly",), NOW - age * DAY)
        history.coming(number, person)(person.came)
    assert SeriesRun.objects.count() == 1
    send_series(clock=lambda: NOW - 3 * DAY)
    email = Delivery.objects.values_list("destination__core", "issue__title").get()
    assert email == ("p3@example.org", next(iter(SERIES_EMAILS)))


@pytest.mark.slow
@pytest.mark.django_db
def test_posts_of_the_archive_follow_the_typed_emails() -> None:
    newsletter = define_all(FeedFactory(), now=NOW)[2]
    newsletter = begin_series(newsletter, NOW)
    issue = IssueFactory(subscribable=newsletter, published_at=NOW)
    for title in SERIES_POSTS:
        item = ItemFactory(feed=newsletter.feeds.get())
        IssueItemFactory(issue=issue, item=item, entry={**item.entry, "title": title})
    extend_series(newsletter, NOW)
    letters = list(emails_of(newsletter))
    assert [letter.subject for letter in letters] == [*SERIES_EMAILS, *SERIES_POSTS]
    assert [letter.series_days for letter in letters] == list(SERIES_DAYS)
    assert all(letter.issue_id for letter in letters)
    assert set(SERIES_POSTS) <= {post.title for post in BLOG_POSTS}
