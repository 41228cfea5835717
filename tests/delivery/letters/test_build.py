"""Letters from rows: the contents of each kind, and the recipient's own links.

Anyone can send anyone a confirmation, but cannot choose any of its text.
"""

import re
from typing import Any
from uuid import uuid4

import pytest

from channels.email.channel import EmailChannel
from channels.mastodon.bridge import MastodonBridge
from channels.placeholders import values_for
from delivery.engine.claimer import LetterCache, recipient_of
from delivery.engine.send_task import ClaimedDelivery, read_claimed
from delivery.letters.build import issue_letter, mail_letter
from delivery.letters.notices import take_notices
from delivery.links import archive_url, issue_url
from delivery.models import Delivery
from subscriptions.models import Subscription
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.sign_up import confirm_subscriptions, sign_up
from tests.delivery.ledger import a_mail, queued
from tests.factories import (
    NOW,
    BridgeFactory,
    IssueFactory,
    SubscribableFactory,
    SubscriptionFactory,
    an_issue,
)

WORDS = "Win 1000 at https://spam.example <b>now</b> %ToEmail% {{ secret }}"
ADDRESSES = ["buy-pills.at-spam.example@example.org", "Win-1000-now@example.org", "gewinne@bücher.example"]
pytestmark = pytest.mark.django_db


def claimed_row(row: Delivery) -> ClaimedDelivery:
    """Return the row as a claim reads it."""
    (found,) = read_claimed(row.lane, [row.pk], token=uuid4(), now=NOW)
    return found


def letter_of(row: Delivery) -> Any:
    return LetterCache().prepare(claimed_row(row), now=NOW)[0].letter


def recipient(row: Delivery) -> Any:
    return recipient_of(claimed_row(row))


def test_an_issues_letter_has_its_posts_as_they_stood_and_its_own_page() -> None:
    issue = an_issue(posts=2)
    (row,) = queued(issue=issue)
    letter = letter_of(row)
    assert (letter.kind, letter.token, letter.html, letter.subject) == (
        "issue", issue.token, issue.html, issue.subject,
    )  # fmt: skip
    assert [entry.title for entry in letter.entries] == [
        item.entry["title"] for item in issue.issue_items.order_by("position")
    ]
    assert letter.web_url == issue_url(issue) == archive_url(issue.subscribable) + f"{issue.pk}/"
    assert letter.from_email == "Letters <letters@sender.example>"


def test_a_private_newsletter_has_no_pages_to_link_to() -> None:
    issue = an_issue(subscribable=SubscribableFactory(visibility="private"))
    letter = letter_of(queued(issue=issue)[0])
    assert (letter.web_url, letter.archive_url) == ("", "")


def test_the_web_link_is_the_issue_then_the_archive_then_the_only_post() -> None:
    public = an_issue(posts=1)
    private = an_issue(posts=1, subscribable=SubscribableFactory(visibility="private"))
    links = []
    for issue in (public, private):
        (row,) = queued(issue=issue)
        links.append(values_for(letter_of(row), recipient(row))["weblink"])
    assert links == [issue_url(public), private.issue_items.get().entry["link"]]


def test_a_digest_on_mastodon_links_to_the_issue() -> None:
    issue = an_issue(subscribable=BridgeFactory(arrangement="daily"))
    (row,) = queued(issue=issue)
    message = MastodonBridge().compose(issue_letter(issue), recipient(row))
    assert message.body.link == issue_url(issue)


def test_a_letter_is_made_once_for_all_its_recipients(django_assert_num_queries: Any) -> None:
    one, two = map(claimed_row, queued(2, issue=an_issue()))
    letters = LetterCache()
    first, _ = letters.prepare(one, now=NOW)
    with django_assert_num_queries(0):
        assert letters.prepare(two, now=NOW)[0].letter is first.letter


def test_only_so_many_letters_are_kept_at_a_time() -> None:
    letters = LetterCache()
    for _ in range(LetterCache.LIMIT + 5):
        letters.prepare(claimed_row(queued(issue=IssueFactory())[0]), now=NOW)
        assert len(letters._issues) <= LetterCache.LIMIT


def test_one_that_cannot_be_made_fails_for_each_recipient_without_being_made_again(
    django_assert_num_queries: Any,
) -> None:
    issue = an_issue(posts=1)
    issue.issue_items.update(entry={"no": "entry"})
    one, two = map(claimed_row, queued(2, issue=issue))
    letters = LetterCache()
    with pytest.raises(Exception, match=r".") as first:
        letters.prepare(one, now=NOW)
    with django_assert_num_queries(0), pytest.raises(type(first.value)):
        letters.prepare(two, now=NOW)


def test_a_confirmation_looks_like_its_newsletter() -> None:
    params = {"accent": "#aa0055", "postal_address": "1 Long Lane, Bath"}
    subscribable = SubscribableFactory(params=params, reply_to="editor@sender.example", visibility="private")
    row = a_mail(subscription=SubscriptionFactory(subscribable=subscribable))
    letter = mail_letter(row, now=NOW)
    assert "#aa0055" in letter.html
    assert "1 Long Lane, Bath" in letter.html
    assert "1 Long Lane, Bath" in letter.text
    assert (letter.from_email, letter.reply_to) == (
        "Letters <letters@sender.example>",
        "editor@sender.example",
    )
    assert letter.newsletter == subscribable.name


def test_a_mail_without_a_newsletter_comes_from_the_site(settings: Any) -> None:
    row = a_mail("test", subscription=None, context={}, template="test")
    letter = mail_letter(row, now=NOW)
    assert letter.from_email == settings.DEFAULT_FROM_EMAIL
    assert (letter.newsletter, letter.reply_to) == ("", "")


def test_a_message_id_is_the_same_for_every_attempt_and_another_for_everyone_else() -> None:
    one, two = queued(2, issue=an_issue())
    mail = a_mail()
    ids = []
    for row in (one, one, two, mail, mail):
        data = EmailChannel().compose(letter_of(row), recipient(row)).data.decode()
        ids.append(next(line for line in data.splitlines() if line.startswith("Message-ID:")))
    assert ids[0] == ids[1]
    assert ids[3] == ids[4]
    assert len(set(ids)) == 3


def test_a_recipient_has_their_own_links_and_name() -> None:
    one, two = queued(2)
    first, second = recipient(one), recipient(two)
    assert first.name.startswith("Reader")
    assert first.core == one.destination.core
    assert first.unsubscribe_url != second.unsubscribe_url
    assert "/unsubscribe/" in first.unsubscribe_url
    assert "/manage/" in first.manage_url


def test_who_has_no_subscription_has_no_links() -> None:
    row = a_mail("test", subscription=None)
    assert (recipient(row).unsubscribe_url, recipient(row).manage_url, recipient(row).name) == ("", "", "")


def letters(email: str, count: int, **facts: Any) -> list[Any]:
    usual = {"name": WORDS, "origin": Origin(ip="203.0.113.7", words=WORDS), "now": NOW, "language": "en"}
    newsletters = SubscribableFactory.create_batch(count)
    sign_up(**{"subscribables": newsletters, "email": email, **usual, **facts})
    take_notices(now=NOW)
    return [mail_letter(row, now=NOW) for row in Delivery.objects.all()]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("email", ADDRESSES)
def test_a_confirmation_holds_no_text_that_a_stranger_chose(email: str, count: int) -> None:
    (letter,) = letters(email, count)
    said = re.sub(r"https?://\S+/confirm/\S+", "", letter.subject + letter.html + letter.text)
    for word in ("spam", "Win", "1000", "secret", "%ToEmail%", *email.split("@")):
        assert word.lower() not in said.lower(), word
    assert letter.from_email == "Letters <letters@sender.example>"
    assert letter.params == {}


@pytest.mark.parametrize("language", ["en\r\nBcc: x@y.example", "<script>", "x" * 5000, "zz"])
def test_a_language_that_is_none_changes_nothing(language: str) -> None:
    (letter,) = letters("ada@example.org", 1, language=language)
    assert "<script" not in letter.html
    assert "Confirm your subscription" in letter.subject


def test_the_link_itself_holds_keys_and_no_words() -> None:
    (letter,) = letters("ada@example.org", 2)
    token = re.findall(r"/confirm/(\S+)/", letter.text)[0]
    assert len(confirm_subscriptions(token=token, now=NOW)) == 2
    assert set(Subscription.objects.values_list("status", flat=True)) == {"confirmed"}
