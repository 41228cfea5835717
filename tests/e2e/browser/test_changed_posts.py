"""Changes of a post are shown on its page, in the reader, in letters and on the issue's page."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from common.clock import utcnow
from delivery.issues.complete import complete_due
from delivery.links import issue_url
from delivery.models import Issue
from feeds.models import Item
from reader.people.readers import add_reader
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect
from tests.e2e.browser.screens import assert_fits, look_at, sign_in
from tests.factories import NOW, ItemFactory, an_entry, an_issue
from tests.reader.posts import an_entry as a_copy
from tests.reader.posts import put

NEEDS_APP = "reader"
pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TEXTS = (
    "<p>The tide goes out at six in the morning. The boats stay in the harbour.</p><p>Bring a lamp.</p>",
    "<p>The tide goes out at <b>seven</b> in the morning. The boats of Donaudampfschifffahrtsgesellschaft"
    " &amp; sons stay in the harbour.</p><p>Bring a lamp, and a friend.</p>",
)


@pytest.fixture
def item() -> Item:
    """Return a post that a newsletter sent, and that was corrected."""
    newsletter = a_newsletter(title="Harbour news", name="harbour", tells_corrections=True)
    made: Item = ItemFactory(feed=newsletter.feeds.get(), state="cleared", entry=None, title="Tides")
    entries = [an_entry(title="Tides of March", content=text, summary="") for text in TEXTS]
    for days, entry in zip((2, 1), entries, strict=True):
        made.versions.create(seen_at=NOW - timedelta(days=days), entry=entry.to_json())
    sent = NOW - timedelta(days=2)
    issue = an_issue(subscribable=newsletter, posts=1, published_at=sent, created_at=sent)
    issue.issue_items.update(item=made, entry=entries[0].to_json())
    collect(newsletter, 2)
    complete_due(clock=lambda: MIDNIGHT)
    return made


def test_newsletters_show_it(page: Any, site: str, item: Item, settings: Any) -> None:
    issue = Issue.objects.get(created_at=MIDNIGHT)
    settings.SITE_URL = site
    page.goto(issue_url(issue))
    assert page.locator("article ins").count() >= 1
    look_at(page, "issue-corrected")
    page.goto("about:blank")
    page.set_content(issue.html)
    page.get_by_role("heading", name="Corrected since our last issue").scroll_into_view_if_needed()
    assert_fits(page)


def test_a_posts_page_shows_it(page: Any, site: str, item: Item) -> None:
    sign_in(page, site, User.objects.create_superuser("ada", "ada@example.org"))
    page.goto(site + reverse("admin:feeds_item_change", args=[item.pk]))
    look_at(page, "admin-changed")
    assert "seven" in page.locator(".changes ins").all_inner_texts()[0]


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "pt"])
def test_the_reader_shows_it(page: Any, site: str, item: Item, language: str) -> None:
    reader = add_reader(name="ada", now=utcnow())
    place = put(reader.channels.get(uid="home"), a_copy(item=item))
    sign_in(page, site, reader.user)
    page.set_extra_http_headers({"Accept-Language": language})
    page.goto(f"{site}/reader/post/{place.entry_id}/")
    page.locator("details:has(.changes) summary").click()
    look_at(page, f"reader-changed-{language}")
