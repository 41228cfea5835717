"""A reader opens picks, stars a post with a note on a phone, and it is in Friday's issue."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from common.clock import utcnow
from delivery.issues.complete import complete_due
from delivery.models import Issue
from feeds.models import Feed
from feeds.polling.poll import poll_feed
from reader.models import Star
from reader.people.readers import add_reader
from subscriptions.collections.assign import assign_final
from subscriptions.models import Assignable, Subscribable
from tests.e2e.browser.screens import look_at, sign_in
from tests.factories import FeedFactory, SubscriptionFactory
from tests.reader.posts import an_entry, put

NEEDS_APP = "reader"
pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NOTE = "Why the harbour floods twice a day. Bring a lamp."


def test_from_a_star_to_fridays_issue(page: Any, site: str) -> None:
    User.objects.create_superuser("ada", "ada@example.org")
    reader, now = add_reader(name="ada", username="ada", now=utcnow()), utcnow()
    blog = FeedFactory(title="Tide tables", url="https://tide.example.org/feed", host="tide.example.org")
    reader.channels.get(uid="home").follows.create(feed=blog)
    for name in ("Tides", "Donaudampfschifffahrtsgesellschaftskapitänsmütze", "Gulls"):
        jf2 = {"type": "entry", "name": name, "url": "https://tide.example.org/a", "content": {"text": name}}
        put(reader.channels.get(uid="home"), an_entry(feed=blog, jf2=jf2), at=now)
    sign_in(page, site, reader.user)

    page.goto(f"{site}/reader/account/")
    page.get_by_label("Who can read them").select_option("public")
    page.get_by_label("Title").fill("The week’s links")
    page.locator("#picks").get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Make a newsletter of it")).to_be_visible()
    look_at(page, "picks-account")

    page.get_by_role("button", name="Make a newsletter of it").click()
    expect(page.get_by_label("Title", exact=True)).to_have_value("The week’s links")
    page.get_by_role("button", name="Create").click()
    page.wait_for_load_state()
    newsletter = Subscribable.objects.get()
    assert (newsletter.arrangement, newsletter.weekday, f"{newsletter.at:%H:%M}") == ("weekly", 4, "16:00")
    SubscriptionFactory(subscribable=newsletter)
    feed = Feed.objects.get(subscribables=newsletter)
    poll_feed(feed_id=feed.pk, now=now)

    page.goto(f"{site}/reader/c/home/")
    post = page.locator("article", has_text="Tides")
    post.locator("[data-star]").click()
    expect(post.locator("[value=unstar]")).to_be_visible()
    page.reload()
    post.locator(".pick summary").click()
    look_at(page, "picks-note")
    # The look opened other notes, which closes this one.
    post.locator(".pick summary").click()
    post.get_by_label("Your note").fill(NOTE)
    post.get_by_label("Tags").fill("sea, maps")
    post.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state()
    assert list(Star.objects.values_list("note", "tags")) == [(NOTE, "sea, maps")]
    page.goto(f"{site}/@ada/")
    page.get_by_role("link", name="The week’s links").click()
    expect(page.get_by_text(NOTE)).to_be_visible()
    look_at(page, "picks-page")

    for minutes in (1, 10, 60):
        poll_feed(feed_id=feed.pk, now=now + timedelta(minutes=minutes))
    assign_final(clock=lambda: now + timedelta(minutes=61))
    end = Assignable.objects.get().period_end
    assert end is not None
    poll_feed(feed_id=feed.pk, now=end + timedelta(minutes=1))
    assert complete_due(clock=lambda: end + timedelta(minutes=20)) == 1
    html = Issue.objects.get().html
    assert html.index(NOTE) < html.index("Tide tables")
