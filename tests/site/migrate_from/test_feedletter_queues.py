"""Messages in feedletter's queues: dropped by default, or sent exactly once after the start."""

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest

from delivery.issues.publish import late_subscribers
from delivery.models import Delivery, Issue, MailboxMessage
from feedletter_site.migrate_from.queues import _filled
from subscriptions.models import Subscription
from tests.site.migrate_from.feedletter_dump import (
    NOW,
    Services,
    dump,
    run,
    sent,
    services,
    site,
    start,
    start_all,
    texts_of,
)
from tests.site.migrate_from.test_cordfeeder import everything, rounds, words

__all__ = ["dump", "services", "site"]
SECOND_DATABASE = True
pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
POST_5 = ("river", "Post 5", "bob@example.com")
MAILABLE, END = "COPY public.mailable (", "\\.\n"


def with_rows(dump: Path, table: str, *rows: str) -> None:
    text = dump.read_text()
    start = text.index(f"COPY public.{table} (")
    end = text.index(END, start)
    dump.write_text(text[:end] + "".join(f"{row}\n" for row in rows) + text[end:])


def row_like(dump: Path, seqnum: str, number: int, *, retried: int = 0) -> str:
    """Return a queued email like the fixture's first, for another subscription."""
    (row,) = (line for line in dump.read_text().splitlines() if line.startswith("101\t"))
    cells = row.split("\t")
    link = f"https://letters.example.org/v0/subscription/remove?subscriptionId={number}&invitation=x"
    cells[0], cells[6], cells[7] = seqnum, urlencode({"removeLink": link, "motto": "Slow news"}), str(retried)
    return "\t".join(cells)


@pytest.mark.django_db(transaction=True)
def test_dropped_messages_are_listed_with_what_to_do(dump: Path) -> None:
    facts = run(dump)
    assert words(facts, "not taken").count("--queued keep") == 4
    start_all()
    rounds(3, begin=NOW)
    assert POST_5 not in sent()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_kept_emails_are_sent_exactly_once_after_the_start(dump: Path) -> None:
    facts = run(dump, "--queued", "keep")
    assert "river: [river] New Post: Post 5: 1 message will be sent" in words(facts, "taken")
    assert "1 message may have been sent" in words(facts, "changed")
    once = everything()
    run(dump, "--queued", "keep")
    assert everything() == once
    rounds(2, begin=NOW)
    assert not MailboxMessage.objects.exists()
    start("river")
    rounds(3, begin=NOW + HOUR)
    start("river")
    rounds(3, begin=NOW + 2 * HOUR)
    assert [each for each in sent() if each[1] == "Post 5"] == [POST_5]
    issue = Issue.objects.get(title="Post 5")
    assert not late_subscribers(issue).exists()
    letter = texts_of("river", "html")
    bob = Subscription.objects.get(upstream_id=8)
    assert "Dear Bob &quot;the $1 \\ man&quot;, jr.," in letter
    assert f"/unsubscribe/{bob.pk}-" in letter
    assert "%ToEmail%" not in letter.partition("Post 5")[2].partition("</html>")[0]
    held = Delivery.objects.get(issue=issue, state="held")
    assert (held.subscription.upstream_id, held.held_for) == (11, "")  # type: ignore[union-attr]
    assert "may have sent it" in held.last_error


def test_two_numbers_of_a_person_are_one_email_held_if_either_was_tried(dump: Path) -> None:
    rows = [row_like(dump, "103", 3), row_like(dump, "104", 7, retried=1), row_like(dump, "105", 3)]
    with_rows(dump, "mailable", *rows)
    run(dump, "--queued", "keep")
    zoe = Delivery.objects.filter(issue__title="Post 5", destination__core="zoe@example.org")
    assert [(each.state, each.held_for) for each in zoe] == [("held", "")]


def test_messages_to_people_who_left_and_without_a_text_are_not_sent(dump: Path) -> None:
    gone = row_like(dump, "103", 999)
    unknown = row_like(dump, "104", 8).replace("subscriptionId", "number")
    refused = row_like(dump, "105", 20)
    with_rows(dump, "mailable", gone, unknown, refused)
    facts = run(dump, "--queued", "keep")
    refusals = words(facts, "not taken")
    assert "Its subscriber left" in refusals
    assert "doesn’t say to which subscription" in refusals
    assert "1 message of people who weren’t imported" in refusals
    assert Issue.objects.get(title="Post 5").deliveries.count() == 2


def test_the_archive_shows_the_letter_without_anybodys_data(dump: Path) -> None:
    run(dump, "--queued", "keep")
    (item,) = Issue.objects.get(title="Post 5").issue_items.all()
    assert "Words of “Post 5”" in item.entry["content"]
    assert "%" not in item.entry["content"]
    assert "example.com" not in item.entry["content"]


def test_fields_of_customizers_are_filled_and_unknown_ones_stay() -> None:
    values = {"motto": "Slow $1 \\ news", "blank": " ", "toemail": "x@example.org"}
    text = r"%Motto% %blank% %nobody% \%motto% %ToEmail% 100%20%"
    assert _filled(text, values) == r"Slow $1 \ news %blank% %nobody% \%motto% %ToEmail% 100%20%"


def test_kept_posts_go_out_once_and_tried_ones_are_held(services: Services, dump: Path) -> None:
    text = dump.read_text().replace("\tmothership\t2\n", "\tmothership\t0\n")
    dump.write_text(text)
    facts = run(dump, "--queued", "keep")
    assert "1 of its files are no pictures" in words(facts, "changed")
    posts = Delivery.objects.filter(issue__subscribable__channel__in=("mastodon", "bluesky"))
    assert [each.held_for for each in posts] == ["pause", "pause"]
    (entry,) = posts.get(destination__kind="mastodon").issue.issue_items.all()  # type: ignore[union-attr]
    assert entry.entry["title"] == "Post 6, by Ada Byron"
    assert entry.entry["link"] == "https://blog.example.org/river/6/"
    assert [(each["url"], each["alt"]) for each in entry.entry["media"]] == [
        ("https://blog.example.org/six.jpg", "A heron")
    ]


def test_a_status_that_was_tried_before_is_held_for_a_person(services: Services, dump: Path) -> None:
    run(dump, "--queued", "keep")
    start("river-masto")
    rounds(1, begin=NOW)
    row = Delivery.objects.get(destination__kind="mastodon", issue__title__startswith="Post 6")
    assert (row.state, row.held_for) == ("held", "")
    assert not [each for each in services.mastodon.statuses if "Post 6" in each["content"]]
