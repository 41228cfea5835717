"""Our hub over real sockets: programs ask, agree, get each issue, and leave."""

import hmac
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from common.clock import utcnow
from delivery.issues.publish import publish
from delivery.models import HubSubscriber
from delivery.rules.hub import MOST_PUSHES
from delivery.views.rss import feed_document
from delivery.webhooks import hub
from delivery.webhooks.hub import serve_hub
from feeds.adding.add import add_feed
from feeds.hubs.subscriptions import keep_hubs, read_pushes
from feeds.models import HubSubscription, Item
from feeds.polling.poll import poll_feed
from tests.factories import IssueFactory, IssueItemFactory, SubscribableFactory, an_entry
from tests.servers.feed_server import FeedServer, Reply, Request

pytestmark = pytest.mark.django_db
SECRET = "s" * 40


class Subscriber:
    """A program with a callback. `agrees` to requests, and answers pushes with `status`."""

    def __init__(self, server: FeedServer) -> None:
        self.agrees, self.status = True, 202
        self.asked: list[dict[str, str]] = []
        self.pushes: list[Request] = []
        self.callback = server.answer("/callback", self.answer)

    def answer(self, request: Request) -> Reply:
        if request.method == "POST":
            self.pushes.append(request)
            return Reply(status=self.status)
        query = {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}
        self.asked.append(query)
        return Reply(query["hub.challenge"].encode() if self.agrees else b"no")


@pytest.fixture
def program(loopback_allowed: None) -> Iterator[Subscriber]:
    with FeedServer() as server:
        yield Subscriber(server)


@pytest.fixture
def newsletter(settings: Any) -> Any:
    settings.SITE_URL = "https://letters.example.org"
    return SubscribableFactory(name="weekly")


TOPIC = "https://letters.example.org/s/weekly/feed.xml"


def ask(client: Client, callback: str, /, **changes: str) -> int:
    form = {"mode": "subscribe", "topic": TOPIC, "callback": callback, "secret": SECRET, **changes}
    return client.post("/hub/", {f"hub.{name}": value for name, value in form.items()}).status_code


def serve(*, after: timedelta = timedelta(0)) -> int:
    return serve_hub(document=feed_document, clock=lambda: utcnow() + after, budget=timedelta(seconds=5))


def an_issue_is_out(newsletter: Any, title: str = "Rain") -> None:
    issue = IssueFactory(subscribable=newsletter, title=title, published_at=None)
    IssueItemFactory(issue=issue, entry=an_entry(title=title).to_json())
    publish(issue_id=issue.pk, now=utcnow())


def test_a_program_that_agrees_gets_the_feed_with_each_issue_signed(
    client: Client, newsletter: Any, program: Subscriber
) -> None:
    assert ask(client, f"{program.callback}?key=1", lease_seconds="86400") == 202
    assert serve() == 1
    (asked,) = program.asked
    assert (asked["hub.mode"], asked["hub.topic"], asked["key"]) == ("subscribe", TOPIC, "1")
    assert asked["hub.lease_seconds"] == "86400"
    assert serve() == 0
    an_issue_is_out(newsletter)
    assert serve() == 1
    (push,) = program.pushes
    assert push.body == client.get("/s/weekly/feed.xml").content
    digest = hmac.digest(SECRET.encode(), push.body, "sha256").hex()
    assert push.headers["x-hub-signature"] == f"sha256={digest}"
    assert push.headers["content-type"].startswith("application/rss+xml")
    assert push.headers["link"] == f'<https://letters.example.org/hub/>; rel="hub", <{TOPIC}>; rel="self"'
    assert serve() == 0
    an_issue_is_out(newsletter, "Snow")
    assert serve(after=timedelta(days=2)) == 0, "the lease is over"


def test_without_consent_nothing_changes(client: Client, newsletter: Any, program: Subscriber) -> None:
    program.agrees = False
    ask(client, program.callback)
    assert serve() == 1
    assert not HubSubscriber.objects.exists()
    program.agrees = True
    ask(client, program.callback)
    serve()
    program.agrees = False
    for mode in ("unsubscribe", "subscribe"):
        ask(client, program.callback, mode=mode, secret="other")
        serve()
    an_issue_is_out(newsletter)
    serve()
    assert len(program.pushes) == 1
    digest = hmac.digest(SECRET.encode(), program.pushes[0].body, "sha256").hex()
    assert program.pushes[0].headers["x-hub-signature"] == f"sha256={digest}"


@pytest.mark.parametrize("how", ["asks", "is gone"])
def test_who_leaves_gets_no_more(client: Client, newsletter: Any, program: Subscriber, how: str) -> None:
    ask(client, program.callback)
    serve()
    if how == "asks":
        assert ask(client, program.callback, mode="unsubscribe") == 202
    else:
        program.status = 410
        an_issue_is_out(newsletter)
    serve()
    assert not HubSubscriber.objects.exists()


def test_a_push_that_failed_is_repeated_a_few_times(
    client: Client, newsletter: Any, program: Subscriber
) -> None:
    ask(client, program.callback)
    serve()
    program.status = 503
    an_issue_is_out(newsletter)
    for number in range(MOST_PUSHES + 2):
        serve(after=timedelta(hours=7 * number))
    assert len(program.pushes) == MOST_PUSHES
    program.status = 200
    an_issue_is_out(newsletter, "Snow")
    assert serve() == 1


def test_an_issue_in_the_middle_of_a_push_is_pushed_next(
    client: Client, newsletter: Any, program: Subscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(client, program.callback)
    serve()
    an_issue_is_out(newsletter)
    made = hub._made

    def meanwhile(call: Any) -> int:
        HubSubscriber.objects.update(owes=True, due_at=utcnow())
        monkeypatch.setattr(hub, "_made", made)
        return made(call)

    monkeypatch.setattr(hub, "ThreadPoolExecutor", AtOnce)
    monkeypatch.setattr(hub, "_made", meanwhile)
    assert serve() == 2


class AtOnce:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> "AtOnce":
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def map(self, function: Any, calls: Any) -> Any:
        return [function(call) for call in calls]


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"mode": "publish"}, 400),
        ({"topic": "https://other.example/s/weekly/feed.xml"}, 400),
        ({"topic": "https://letters.example.org/s/weekly/"}, 400),
        ({"topic": "https://letters.example.org/s/none/feed.xml"}, 404),
        ({"topic": "https://letters.example.org/s/own/feed.xml"}, 404),
        ({"topic": "https://letters.example.org/s/\0/feed.xml"}, 404),
        ({"secret": "é" * 100}, 400),
        ({"callback": "ftp://x.example/"}, 400),
        ({"callback": "https://x.example/#part"}, 400),
        ({"callback": "https://x.example/" + "x" * 1000}, 400),
        ({"callback": "http://[x"}, 400),
    ],
)
def test_other_requests_are_refused(
    client: Client, newsletter: Any, changes: dict[str, str], status: int
) -> None:
    SubscribableFactory(name="own", visibility="private")
    assert ask(client, "https://x.example/", **changes) == status
    assert not HubSubscriber.objects.exists()


def test_numbers_are_bounded(client: Client, newsletter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "MOST_OF_A_TOPIC", 3)
    monkeypatch.setattr(hub, "MOST_UNVERIFIED_OF_A_HOST", 2)
    statuses = [ask(client, f"https://x.example/{number}") for number in range(3)]
    assert statuses == [202, 202, 400]
    statuses = [ask(client, f"https://{number}.example/") for number in range(2)]
    assert statuses == [202, 400]
    assert ask(client, "https://x.example/0") == 202


def test_private_addresses_are_not_called(client: Client, newsletter: Any, settings: Any) -> None:
    settings.ALLOW_PRIVATE_NETWORKS = []
    with FeedServer() as server:
        program = Subscriber(server)
        assert ask(client, program.callback) == 202
        serve()
        assert not program.asked
    assert not HubSubscriber.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_our_own_subscriber_gets_issues_by_our_own_hub(live_urls: str, loopback_allowed: None) -> None:
    newsletter = SubscribableFactory(name="weekly")
    feed = add_feed(url=f"{live_urls}/s/weekly/feed.xml", now=utcnow() - timedelta(hours=1))
    poll_feed(feed_id=feed.pk, now=utcnow())
    keep_hubs()
    assert serve() == 1
    assert HubSubscription.objects.get().state == "active"
    an_issue_is_out(newsletter)
    assert serve() == 1
    read_pushes()
    assert [item.title for item in Item.objects.filter(feed=feed)] == ["Rain"]
