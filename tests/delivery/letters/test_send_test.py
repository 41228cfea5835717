"""Test mails: queued as Deliveries, first in the lane, with the newest posts."""

import zlib
from datetime import timedelta

import pytest

from channels.placeholders import fill_html
from common.ports.channels import InvalidDestination
from delivery.engine.send_pass import send_due
from delivery.issues.broadcasts import LetterText, letter_text, send_letter
from delivery.letters.samples import NothingToShow, sample
from delivery.letters.templates import preview_written
from delivery.letters.trial import send_test_email, send_test_issue, send_test_written
from delivery.links import archive_url
from delivery.models import Delivery, Issue
from subscriptions.models import Destination
from tests.delivery.ledger import Clock, a_lane, queued, states
from tests.factories import (
    NOW,
    BroadcastFactory,
    DailyFactory,
    FeedDocumentFactory,
    FeedFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
)
from tests.servers.documents import rss
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db


def a_feed(*, posts: int, first: int = 0) -> object:
    """Return a feed whose last document has that many posts, oldest last."""
    feed = FeedFactory()
    entries = [
        {
            "guid": f"p{first + number}",
            "link": f"https://blog.example/p{first + number}",
            "title": f"Post {first + number}",
            "published": NOW - timedelta(hours=first + number),
        }
        for number in range(posts)
    ]
    headers = {"content-type": "application/rss+xml", "url": feed.url}
    FeedDocumentFactory(feed=feed, body=zlib.compress(rss(entries)), headers=headers)
    return feed


@pytest.mark.django_db(transaction=True)
def test_a_test_mail_goes_before_all_letters(smtp: SmtpServer) -> None:
    queued(3, lane=a_lane(concurrency=1), due_at=NOW - timedelta(hours=1))
    row = send_test_email(to="Ada <ada@example.org>", now=NOW)
    assert (row.kind, row.priority, row.state, row.domain) == ("test", 1, "queued", "example.org")
    assert send_due(clock=Clock()).sent == 4
    assert smtp.recipients[0] == "ada@example.org"
    assert "test message" in smtp.messages[0].subject


def test_each_test_is_a_delivery_of_its_own_to_one_destination() -> None:
    one, two = (send_test_email(to="ada@example.org", now=NOW) for _ in range(2))
    assert one.pk != two.pk
    assert Destination.objects.count() == 1


def test_what_is_no_address_is_refused_and_nothing_queued() -> None:
    with pytest.raises(InvalidDestination):
        send_test_email(to="ada", now=NOW)
    assert Delivery.objects.count() == 0


def test_a_suppressed_address_gets_no_test_either() -> None:
    SuppressionFactory(core="ada@example.org")
    send_test_email(to="ada@example.org", now=NOW)
    assert send_due(clock=Clock()).sent == 0
    assert "suppression" in Delivery.objects.get().last_error


@pytest.mark.django_db(transaction=True)
def test_a_test_of_a_newsletter_is_the_letter_as_it_would_look_now(smtp: SmtpServer) -> None:
    subscribable = SubscribableFactory(feeds=[a_feed(posts=3)], title="My Letter")
    send_test_issue(subscribable=subscribable, to="ada@example.org", now=NOW)
    assert send_due(clock=Clock()).sent == 1
    (message,) = smtp.messages
    assert message.subject.startswith("Test: ")
    assert "Post 0" in message.subject
    assert "letters@sender.example" in str(message.email["From"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("language", "mark"), [("en", "Test: "), ("pt-BR", "Teste: "), ("xx", "Test: ")])
def test_a_test_of_a_letter_of_ones_own_is_that_letter_marked(
    smtp: SmtpServer, language: str, mark: str
) -> None:
    subscribable = SubscribableFactory(language=language)
    text = LetterText("Summer", "We *rest*.")
    send_test_written(subscribable=subscribable, text=text, to="ada@example.org", now=NOW)
    assert send_due(clock=Clock()).sent == 1
    (message,) = smtp.messages
    assert message.subject == f"{mark}Summer"
    html = message.email.get_body(("html",))
    assert html is not None
    assert "<em>rest</em>" in html.get_content()


def test_a_preview_of_a_letter_of_ones_own_is_the_letter_that_goes_out() -> None:
    letter = BroadcastFactory()
    SubscriptionFactory(subscribable=letter.subscribable)
    shown = preview_written(subscribable=letter.subscribable, text=letter_text(letter), now=NOW)
    send_letter(letter_id=letter.pk, version=1, now=NOW)
    issue = Issue.objects.get()
    # Apart from Ada's keys, it is the same.
    values = dict.fromkeys(issue.placeholders, "") | {"weblink": archive_url(letter.subscribable)}
    body = shown.html.partition('class="foot"')[0]
    assert body == fill_html(issue.html, issue.placeholders, values).partition('class="foot"')[0]
    assert (shown.subject, shown.problem) == (issue.subject, None)
    assert "List-Unsubscribe-Post" in shown.raw
    assert "Test: " not in shown.raw


def test_a_newsletter_without_posts_says_so_and_is_not_tried_again(smtp: SmtpServer) -> None:
    send_test_issue(subscribable=SubscribableFactory(), to="ada@example.org", now=NOW)
    assert send_due(clock=Clock()).failed == 1
    row = Delivery.objects.get()
    assert row.state == "failed"
    assert "There is no post to show yet" in row.last_error


@pytest.mark.django_db(transaction=True)
def test_a_newsletter_dropped_meanwhile_stops_nobody(smtp: SmtpServer) -> None:
    subscribable = SubscribableFactory()
    send_test_issue(subscribable=subscribable, to="ada@example.org", now=NOW)
    subscribable.delete()
    queued(2)
    assert send_due(clock=Clock()).sent == 2
    assert states() == {"sent": 2, "deferred": 1}


def test_a_sample_takes_the_newest_of_all_feeds() -> None:
    feeds = [a_feed(posts=4, first=1), a_feed(posts=4, first=0)]
    each = sample(SubscribableFactory(feeds=feeds), now=NOW)
    assert [post.entry.title for post in each.posts] == ["Post 0"]
    daily = sample(DailyFactory(feeds=feeds), now=NOW)
    assert [post.entry.title for post in daily.posts][:2] == ["Post 0", "Post 1"]
    assert len(daily.posts) == 5


def test_a_feed_whose_document_cannot_be_read_is_left_out() -> None:
    broken = FeedFactory()
    FeedDocumentFactory(feed=broken, body=zlib.compress(b"not a feed"), headers={"content-type": "text/html"})
    with pytest.raises(NothingToShow):
        sample(SubscribableFactory(feeds=[broken]), now=NOW)
