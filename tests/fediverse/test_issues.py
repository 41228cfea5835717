"""From a feed to followers: an issue, its correction and its withdrawal, each once."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from channels.activitypub.signatures import public_pem
from common.clock import utcnow
from common.ports import channels
from delivery.engine.send_pass import send_due
from delivery.models import Delivery
from fediverse.actors import private_key
from subscriptions.models import Destination, Subscribable
from tests.delivery.corrected import BridgedBlog, changes, dated
from tests.delivery.engine.bridge_contracts import publish_posts
from tests.factories import SubscriptionFactory
from tests.fediverse.conftest import BEES, SITE, Tell
from tests.servers.api_server import Reply
from tests.servers.feed_server import FeedServer
from tests.servers.services.fediverse import FediverseServer

A = dated("a", 10, title="Bee hotels")
CORRECTED = dated("a", 10, title="Bee hotels, corrected")


@pytest.fixture
def blog(bees: Subscribable, server: FediverseServer, tell: Tell) -> Iterator[BridgedBlog]:
    with FeedServer() as feeds:
        made = BridgedBlog(feeds)
        made.watch()
        bees.feeds.set([made.feed])
        made.read(0)
        tell("Follow", "ada", BEES)
        yield made


def titles(server: FediverseServer) -> list[str]:
    return [thing.get("name") or thing["content"] for thing in server.objects.values()]


def test_a_post_its_correction_and_its_withdrawal_each_arrive_once(
    blog: BridgedBlog, bees: Subscribable, server: FediverseServer, client: Client
) -> None:
    SubscriptionFactory(subscribable=bees)
    blog.new(A)
    blog.pass_by(20, 40, 60)
    [place] = server.objects
    assert place.startswith(f"{SITE}/s/bees/archive/")
    assert "Bee hotels" in titles(server)[0]
    path = place.removeprefix(SITE)
    assert client.get(path).json()["content"] == server.objects[place]["content"]
    blog.new(CORRECTED)
    blog.pass_by(70, 80, 90, 100)
    assert "corrected" in titles(server)[0]
    # The email stays as it was sent.
    assert changes() == [("edit", "sent", "")]
    assert "corrected" in client.get(path).content.decode()
    blog.new()
    blog.pass_by(110, 200, 300, 400)
    assert server.objects == {}
    assert server.deleted == [place]
    assert client.get(path).status_code == 410
    assert [activity["type"] for activity in server.received] == ["Accept", "Create", "Update", "Delete"]
    assert server.repeated == []
    page = client.get("/s/bees/outbox").json()["first"].removeprefix(SITE)
    assert client.get(page).json()["orderedItems"] == []


@pytest.mark.parametrize(
    ("answer", "states"),
    [
        (Reply(202, takes=True, hangs_up=True), ["deferred", "sent"]),
        (Reply(503), ["deferred", "sent"]),
        (Reply(401, {"error": "no"}), ["deferred", "sent"]),
        (Reply(403, {"error": "blocked"}), ["failed", "failed"]),
    ],
)
def test_an_answer_is_understood_and_nobody_reads_it_twice(
    bees: Subscribable, server: FediverseServer, tell: Tell, answer: Reply, states: list[str]
) -> None:
    tell("Follow", "ada", BEES)
    server.says = answer
    row = publish_posts(bees, utcnow())
    send_due()
    server.says = None
    row.refresh_from_db()
    seen = [row.state]
    Delivery.objects.filter(pk=row.pk, state="deferred").update(due_at=utcnow())
    send_due()
    row.refresh_from_db()
    assert [*seen, row.state] == states
    assert len(server.objects) == (states[-1] == "sent")
    if answer.status == 401:
        # Once more by RFC 9421.
        assert sum("signature-input" in request.headers for request in server.requests) == 1


def test_a_server_without_the_inbox_gets_no_more_until_somebody_there_follows(
    bees: Subscribable, server: FediverseServer, tell: Tell
) -> None:
    tell("Follow", "ada", BEES)
    publish_posts(bees, utcnow())
    server.says = Reply(410)
    send_due()
    destination = Destination.objects.get(kind="activitypub")
    assert (Delivery.objects.get().state, destination.disabled_at is None) == ("failed", False)
    server.says = None
    tell("Follow", "bob", BEES)
    destination.refresh_from_db()
    assert destination.disabled_at is None


def test_each_server_gets_an_issue_once_however_many_follow(
    bees: Subscribable, server: FediverseServer, tell: Tell
) -> None:
    with FediverseServer(public_pem(private_key())) as other:
        for name in ("ada", "bob", "cem"):
            tell("Follow", name, BEES)
        publish_posts(bees, utcnow())
        send_due()
        assert other.objects == {}
    assert [activity["type"] for activity in server.received].count("Create") == 1


def test_only_public_newsletters_can_be_followed(bees: Subscribable, client: Client) -> None:
    Subscribable.objects.update(visibility="private")
    for path in ("actor", "outbox", "followers"):
        assert client.get(f"/s/bees/{path}").status_code == 404


def test_the_channel_is_offered_for_no_newsletter_and_no_sign_up() -> None:
    offered: list[Any] = [channels.person_kinds(), channels.bridge_kinds(), channels.newsletter_kinds()]
    assert "activitypub" not in {kind.key for kinds in offered for kind in kinds}


def test_a_newsletters_page_offers_its_handle_and_leads_to_the_visitors_server(
    bees: Subscribable, client: Client
) -> None:
    answer = client.get("/s/bees/")
    page = answer.content.decode()
    assert "@bees@letters.example" in page
    assert answer["Link"] == f'<{BEES}>; rel="alternate"; type="application/activity+json"'
    assert f'"sameAs":["{BEES}"]' in page.replace(" ", "").replace("\\u002F", "/")
    opened = client.get("/s/bees/fediverse/", {"server": " @ada@Mastodon.example "})
    link = (
        "https://mastodon.example/authorize_interaction?uri=https%3A%2F%2Fletters.example%2Fs%2Fbees%2Factor"
    )
    assert f'href="{link}"' in opened.content.decode()
    for typed in ("", "javascript:x", "a b", "x" * 5_000, "https://e.example/path"):
        answer = client.get("/s/bees/fediverse/", {"server": typed})
        assert answer.status_code == 200
        assert "authorize_interaction" not in answer.content.decode()
