"""Publishing creates one Delivery for each confirmed subscription, once, by one statement.

Issues of channels without letters: none is rendered or stored, and pages show the posts.
The cards by which the archive lists and finds issues.
"""

from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from channels.letter import Recipient
from channels.mastodon.bridge import MastodonBridge
from common.ports import channels
from delivery.issues.complete import complete_due
from delivery.issues.contents import CARDS_AT_ONCE, LONGEST_CARD_TEXT, card_of, fill_cards
from delivery.issues.draft_edits import leave_out_of_draft
from delivery.issues.publish import publish
from delivery.letters.build import issue_letter
from delivery.models import Delivery, Issue, IssueCard, Lane, LetterTemplate
from delivery.rendering import engine
from feeds.models import Item
from subscriptions.models import Subscribable
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect
from tests.delivery.ledger import MINUTE
from tests.factories import (
    NOW,
    BridgeFactory,
    DestinationFactory,
    IssueFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
    an_entry,
    an_issue,
)
from tests.races import beside

pytestmark = pytest.mark.django_db


def a_due_issue(**changes: Any) -> Issue:
    issue: Issue = IssueFactory(published_at=None, **changes)
    return issue


def test_everyone_who_is_confirmed_gets_a_row() -> None:
    issue = a_due_issue()
    readers = [SubscriptionFactory(subscribable=issue.subscribable, language="de") for _ in range(3)]
    SubscriptionFactory()
    assert publish(issue_id=issue.pk, now=NOW) == 3
    issue.refresh_from_db()
    assert issue.published_at == NOW
    rows = Delivery.objects.order_by("pk")
    assert [(row.subscription_id, row.destination_id) for row in rows] == [
        (reader.pk, reader.destination_id) for reader in readers
    ]
    row = rows[0]
    assert (row.kind, row.issue, row.key, row.state, row.language) == ("issue", issue, "", "queued", "de")
    assert (row.due_at, row.created_at, row.attempts, row.context) == (NOW, NOW, 0, {})
    assert (row.domain, row.lane.kind, row.lane.account) == ("example.org", "email", "default")
    assert (row.lease_token, row.begun_at, row.sent_at, row.last_error) == (None, None, None, "")
    row.full_clean()


def test_who_is_not_confirmed_or_has_left_or_is_disabled_gets_none() -> None:
    issue = a_due_issue()
    for factory in (UnconfirmedFactory, LeftFactory):
        factory(subscribable=issue.subscribable)
    gone = DestinationFactory(disabled_at=NOW)
    SubscriptionFactory(subscribable=issue.subscribable, destination=gone)
    assert publish(issue_id=issue.pk, now=NOW) == 0
    assert Delivery.objects.count() == 0


def test_publishing_twice_is_publishing_once() -> None:
    issue = a_due_issue()
    SubscriptionFactory(subscribable=issue.subscribable)
    assert publish(issue_id=issue.pk, now=NOW) == 1
    SubscriptionFactory(subscribable=issue.subscribable)
    assert publish(issue_id=issue.pk, now=NOW + MINUTE) == 0
    issue.refresh_from_db()
    assert issue.published_at == NOW
    assert Delivery.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_two_who_publish_at_once_publish_once() -> None:
    issue = a_due_issue()
    SubscriptionFactory.create_batch(5, subscribable=issue.subscribable)
    made = beside(lambda: publish(issue_id=issue.pk, now=NOW), lambda: publish(issue_id=issue.pk, now=NOW))
    assert made == (5, 0)
    assert Delivery.objects.count() == 5


def test_a_failure_afterwards_publishes_nothing() -> None:
    issue = a_due_issue()
    SubscriptionFactory(subscribable=issue.subscribable)
    with transaction.atomic():
        assert publish(issue_id=issue.pk, now=NOW) == 1
        transaction.set_rollback(True)
    issue.refresh_from_db()
    assert issue.published_at is None
    assert Delivery.objects.count() == 0


def test_an_issue_without_readers_is_published_all_the_same() -> None:
    issue = a_due_issue()
    assert publish(issue_id=issue.pk, now=NOW) == 0
    issue.refresh_from_db()
    assert issue.published_at == NOW


def test_the_number_of_queries_does_not_grow_with_the_readers() -> None:
    def queries(readers: int) -> int:
        issue = a_due_issue()
        SubscriptionFactory.create_batch(readers, subscribable=issue.subscribable)
        with CaptureQueriesContext(connection) as captured:
            assert publish(issue_id=issue.pk, now=NOW) == readers
        return len(captured)

    queries(1)
    assert queries(2) == queries(40)


def a_bridge(*accounts: str) -> Issue:
    subscribable = BridgeFactory()
    for account in accounts:
        destination = DestinationFactory(kind="mastodon", core=account, label=account)
        SubscriptionFactory(subscribable=subscribable, destination=destination)
    return a_due_issue(subscribable=subscribable)


def test_each_account_of_a_bridge_has_a_lane_of_its_own() -> None:
    issue = a_bridge("bot@one.example", "bot@two.example")
    assert publish(issue_id=issue.pk, now=NOW) == 2
    rows = Delivery.objects.select_related("lane").order_by("pk")
    assert [row.lane.account for row in rows] == ["bot@one.example", "bot@two.example"]
    assert [row.domain for row in rows] == ["one.example", "two.example"]
    assert {(lane.serial, lane.concurrency, lane.spacing_seconds) for lane in Lane.objects.all()} == {
        (True, 1, 60.0)
    }


def test_lanes_are_made_once_and_what_the_admin_set_stays() -> None:
    publish(issue_id=a_bridge("bot@one.example").pk, now=NOW)
    Lane.objects.update(spacing_seconds=5)
    issue = a_due_issue(subscribable=Issue.objects.get().subscribable)
    publish(issue_id=issue.pk, now=NOW)
    assert Lane.objects.get().spacing_seconds == 5
    assert Delivery.objects.count() == 2


def test_a_name_that_looks_like_sql_is_only_a_name() -> None:
    issue = a_due_issue(subscribable=SubscribableFactory(title="'); DROP TABLE delivery_delivery; --"))
    odd = DestinationFactory(core="o'brien%s@example.org")
    SubscriptionFactory(subscribable=issue.subscribable, destination=odd, language="en")
    assert publish(issue_id=issue.pk, now=NOW) == 1
    assert Delivery.objects.get().domain == "example.org"


def a_bridge_with(posts: int, arrangement: str = "each", **changes: Any) -> list[Item]:
    bridge = a_newsletter(
        arrangement, readers=0, channel="mastodon", sign_up="closed", visibility="public", **changes
    )
    config = {"account": "bot", "instance_url": "https://mastodon.example"}
    to = DestinationFactory(kind="mastodon", core="bot@mastodon.example", label="bot", config=config)
    SubscriptionFactory(subscribable=bridge, destination=to)
    return collect(bridge, posts)


def words_of(issue: Issue) -> str:
    message = MastodonBridge().compose(issue_letter(issue), Recipient(1, "bot@x.example", "bot"))
    return "".join(part.text for part in message.body.parts)


def test_only_mail_reads_the_letter() -> None:
    assert [kind.key for kind in channels.all_kinds() if kind.needs_html] == ["email"]


@pytest.mark.parametrize(("arrangement", "posts"), [("each", 1), ("daily", 3)])
def test_nothing_is_rendered_for_a_bridge(
    monkeypatch: pytest.MonkeyPatch, arrangement: str, posts: int
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("rendered")

    items = a_bridge_with(posts, arrangement)
    monkeypatch.setattr(engine, "render_parts", refuse)
    assert complete_due(clock=lambda: MIDNIGHT) == 1
    issue = Issue.objects.get()
    assert (issue.html, issue.text, issue.placeholders) == ("", "", {})
    assert issue.subject
    assert issue.issue_items.count() == posts
    words = words_of(issue)
    if arrangement == "each":
        assert words.startswith(f"[{issue.subscribable.name}] New Post: {items[0].title}")
    else:
        assert issue.title in words


def test_a_newsletter_by_mail_has_its_letter() -> None:
    collect(a_newsletter("each"), 1)
    complete_due(clock=lambda: MIDNIGHT)
    assert Issue.objects.get().html


def test_a_broken_template_of_ones_own_stops_no_bridge() -> None:
    a_bridge_with(1)
    LetterTemplate.objects.create(
        subscribable=Subscribable.objects.get(), name="issues/post", html="{% nope %}"
    )
    assert complete_due(clock=lambda: MIDNIGHT) == 1


def test_the_archive_and_its_feed_show_the_posts(client: Client) -> None:
    [item] = a_bridge_with(1)
    complete_due(clock=lambda: MIDNIGHT)
    issue = Issue.objects.get()
    name = issue.subscribable.name
    for url in (f"/s/{name}/archive/", f"/s/{name}/archive/{issue.pk}/", f"/s/{name}/feed.xml"):
        answer = client.get(url, follow=True)
        assert answer.status_code == 200, url
        assert item.title in answer.content.decode(), url


def test_an_issue_of_before_posts_the_usual_words_and_not_the_letters_text() -> None:
    a_bridge_with(1)
    complete_due(clock=lambda: MIDNIGHT)
    before = words_of(Issue.objects.get())
    Issue.objects.update(html="<p>Letter</p>", text="The letter as text", placeholders={"toname": "x"})
    assert words_of(Issue.objects.get()) == before


def test_a_draft_of_before_is_edited_and_its_letters_text_is_not_posted() -> None:
    first, second = a_bridge_with(2, "daily", approval="click")
    complete_due(clock=lambda: MIDNIGHT)
    Issue.objects.update(html="<p>Letter</p>", text="The letter as text")
    leave_out_of_draft(issue_id=Issue.objects.get().pk, item_id=second.pk, now=NOW)
    issue = Issue.objects.get()
    assert (issue.html, issue.text) == ("", "")
    assert first.title in str(issue_letter(issue).entries)


def test_its_page_shows_what_was_posted_and_no_letter(admin_client: Client) -> None:
    [item] = a_bridge_with(1)
    complete_due(clock=lambda: MIDNIGHT)
    issue = Issue.objects.get()
    page = admin_client.get(f"/admin/delivery/issue/{issue.pk}/change/").content.decode()
    assert f"New Post: {item.title}" in page
    assert "of 500 that Mastodon takes" in page
    assert "<iframe" not in page
    Issue.objects.update(pruned_at=NOW)
    page = admin_client.get(f"/admin/delivery/issue/{issue.pk}/change/").content.decode()
    assert "The content of this old issue was deleted" in page


def test_the_page_of_a_letter_is_as_it_was(admin_client: Client) -> None:
    issue = an_issue(posts=1, html="<p>Hi</p>")
    page = admin_client.get(f"/admin/delivery/issue/{issue.pk}/change/").content.decode()
    assert "<iframe" in page
    assert "The post<" not in page


def test_a_card_has_the_titles_in_order_and_every_word_once() -> None:
    issue = IssueFactory(title="Rain, and 1 more", subscribable__language="de")
    entries = [
        an_entry(1, title="Rain", content="<p>It rains.</p><p>Again.</p>"),
        an_entry(2, title="", content=""),
    ]
    card = card_of(issue, entries)
    assert card.titles == ["Rain", "Beitrag ohne Titel"]
    assert card.words.split() == ["rain", "and", "1", "more", "it", "rains", "again"]


def test_an_issue_gets_its_card_when_it_is_made() -> None:
    items = collect(a_newsletter(), posts=2)
    assert complete_due(clock=lambda: MIDNIGHT) == 1
    card = IssueCard.objects.get(issue=Issue.objects.get())
    assert sorted(card.titles) == sorted(item.title for item in items)


def test_a_card_is_bounded() -> None:
    text = " ".join(f"word{number}" for number in range(50_000))
    assert len(card_of(IssueFactory(), [an_entry(title="Rain", content=text)]).words) <= LONGEST_CARD_TEXT


def test_issues_of_a_release_before_get_theirs_as_far_as_the_budget_goes() -> None:
    letter = SubscribableFactory()
    with_posts = an_issue(subscribable=letter, posts=2)
    IssueFactory.create_batch(CARDS_AT_ONCE, subscribable=letter)
    assert fill_cards() == CARDS_AT_ONCE + 1
    assert len(IssueCard.objects.get(issue=with_posts).titles) == 2
    assert fill_cards() == 0
    letter.delete()
    assert not IssueCard.objects.exists()
