"""Test mails: queued as Deliveries, first in the lane, with the newest posts.

Trying a mail account: one test mail, or a sentence with the error and the remedy.
"""

import socket
import zlib
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from channels.placeholders import fill_html
from channels.rules.meaning import Meaning
from channels.rules.trials import Cause, trouble_of_cause, trouble_of_refusal
from common.ports.channels import InvalidDestination
from common.transactions import NetworkInTransaction
from delivery.accounts.accounts import add_account
from delivery.engine.send_pass import send_due
from delivery.issues.broadcasts import LetterText, letter_text, send_letter
from delivery.letters import trial
from delivery.letters.samples import NothingToShow, sample
from delivery.letters.templates import preview_written
from delivery.letters.trial import send_test_email, send_test_issue, send_test_written, try_account
from delivery.links import archive_url
from delivery.models import Account, Delivery, Issue
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
from tests.servers import esp_server
from tests.servers.documents import rss
from tests.servers.esp_server import KEY, EspServer
from tests.servers.smtp_server import STALL, SmtpServer

ADA = "ada@example.org"
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS"),
]


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


@pytest.fixture
def _sender(settings: Any) -> None:
    settings.DEFAULT_FROM_EMAIL = "Site <site@sender.example>"


def tried(url: str, to: str = ADA) -> str:
    Delivery.objects.all().delete()
    Account.objects.all().delete()
    return try_account(account=add_account(name="one", url=url), to=to, now=NOW)


@pytest.mark.usefixtures("_sender")
def test_what_works_is_remembered_and_the_mail_stands_in_the_ledger() -> None:
    with SmtpServer(login=("ada", "s3cret")) as server:
        assert tried(server.url) == ""
        (message,) = server.messages
    assert message.recipient == ADA
    (mail,) = Delivery.objects.all()
    assert (mail.kind, mail.state, mail.lane.account, mail.lease_token) == ("test", "sent", "one", None)
    account = Account.objects.get()
    assert (account.tried_at, account.trouble) == (NOW, "")


@pytest.mark.usefixtures("_sender")
def test_a_wrong_password_is_said_without_it_and_nothing_is_left_to_send() -> None:
    with SmtpServer(login=("ada", "s3cret")) as server:
        said = tried(server.url.replace("s3cret", "wr0ng"))
        assert not server.messages
    assert said.startswith("127.0.0.1 refused the user and password. Enter both again. Its words: 535")
    assert "wr0ng" not in said
    assert Account.objects.get().trouble == said
    assert not Delivery.objects.exists()


@pytest.mark.usefixtures("_sender")
def test_what_a_server_repeats_of_the_password_is_not_shown() -> None:
    with SmtpServer(login=("ada", "s3cret")) as server:
        server.answer("auth", "535 5.7.8 wr0ng is wrong")
        assert "wr0ng" not in tried(server.url.replace("s3cret", "wr0ng"))


@pytest.mark.usefixtures("_sender")
def test_each_obstacle_has_its_sentence() -> None:
    with SmtpServer() as server:
        assert "offer STARTTLS on port" in tried(server.url.replace("smtp:", "smtp+starttls:"))
        assert "use TLS on port" in tried(server.url.replace("smtp:", "smtps:"))
        assert "accept a user and password" in tried(server.url.replace("//", "//user:secret@"))
        server.answer("mail", "553 5.7.1 Sender address rejected: not owned by user", times=1)
        said = tried(server.url)
        assert "doesn’t let this account send from Site <site@sender.example>" in said
        server.answer("connect", "554 no", times=1)
        assert "accept email from us now" in tried(server.url)
    assert "127.0.0.1 doesn’t respond on port" in tried(server.url)


@pytest.mark.usefixtures("_sender")
def test_a_silent_server_is_waited_for_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "TRIAL_MAIL_SECONDS", 0.1)
    with SmtpServer() as server:
        server.answer("ehlo", STALL)
        assert "It took longer than" in tried(server.url)
    monkeypatch.setattr(trial, "GIVEN_UP_AFTER", 0.05)
    monkeypatch.setattr(trial, "TRIAL_MAIL_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        assert "It took longer than" in tried(f"smtp://127.0.0.1:{deaf.getsockname()[1]}")


@pytest.mark.usefixtures("loopback_allowed")
@pytest.mark.usefixtures("_sender")
def test_a_service_is_tried_over_its_api() -> None:
    with EspServer(esp_server.postmark) as server:
        assert tried(f"anymail+postmark://{KEY}@example.org?api_url={server.url}") == ""
        assert len(server.taken) == 1
        said = tried(f"anymail+postmark://wr0ng@example.org?api_url={server.url}")
    assert "Enter a key that is allowed to send" in said
    assert "wr0ng" not in said


@pytest.mark.usefixtures("_sender")
def test_no_address_and_one_that_is_never_written_to_are_refused() -> None:
    account = add_account(name="one", url="smtp://127.0.0.1:1")
    with pytest.raises(InvalidDestination):
        try_account(account=account, to="nobody", now=NOW)
    SuppressionFactory(core=ADA)
    with pytest.raises(InvalidDestination, match="not to be written to"):
        try_account(account=account, to=ADA, now=NOW)
    with transaction.atomic(), pytest.raises(NetworkInTransaction):
        try_account(account=account, to=ADA, now=NOW)


@pytest.mark.usefixtures("_sender")
def test_every_cause_has_words_and_the_provider_is_quoted_where_the_login_fails() -> None:
    proof = "An app password."
    said = {cause: trouble_of_cause(cause, "smtp.gmail.com", 465, "535 no.", proof=proof) for cause in Cause}
    assert len(set(said.values())) == len(Cause)
    assert said[Cause.LOGIN].endswith("Enter both again. It must be: An app password. Its words: 535 no.")
    assert "server called smtp.gmail.com" in said[Cause.NO_HOST]
    relay = trouble_of_refusal(Meaning.RELAY, "smtp.gmail.com", "a@gmail.com", "554 no")
    assert relay.startswith(
        "smtp.gmail.com accepted the sign-in but refused the test email. Check the server"
    )
