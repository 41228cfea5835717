"""Activities of other servers: follows, reactions, moves, and forgeries."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from channels.activitypub.signatures import public_pem, sign_message
from common.clock import utcnow
from common.rates import Limit
from fediverse import exchange as exchanges
from fediverse.actors import add_alias, switch_off
from fediverse.exchange import drop_old, exchange_due
from fediverse.models import Activity, Actor, Follower, Outgoing, Reaction, RemoteActor
from subscriptions.models import Destination, Subscribable, Subscription
from tests.factories import DeliveryFactory, IssueFactory
from tests.fediverse.conftest import BEES, SITE, Tell
from tests.servers.api_server import Reply
from tests.servers.services.fediverse import FediverseServer, a_key

INBOX = "/fediverse/inbox"


def followers() -> list[str]:
    return [row.handle.partition("@")[0] for row in Follower.objects.order_by("pk")]


def statuses() -> list[str]:
    return list(Subscription.objects.order_by("pk").values_list("status", flat=True))


def post(client: Client, body: bytes, headers: dict[str, str]) -> int:
    answer = client.post(INBOX, body, content_type="application/activity+json", headers=headers)
    exchange_due()
    return answer.status_code


@pytest.mark.parametrize("method", [None, sign_message])
def test_a_follow_is_accepted_and_its_server_subscribed_once(
    server: FediverseServer, tell: Tell, method: Any
) -> None:
    how = {"method": method} if method else {}
    assert tell("Follow", "ada", BEES, **how) == 202
    assert tell("Follow", "bob", BEES, **how) == 202
    assert followers() == ["ada", "bob"]
    assert statuses() == ["confirmed"]
    accepts = [activity for activity in server.received if activity["type"] == "Accept"]
    assert [accept["object"]["actor"] for accept in accepts] == [server.account("ada"), server.account("bob")]
    assert [request.path for request in server.requests if request.method == "POST"] == [
        "/users/ada/inbox",
        "/users/bob/inbox",
    ]


@pytest.mark.parametrize("how", ["undo", "undo by id", "block", "deleted"])
def test_who_leaves_is_forgotten_and_the_last_ends_the_subscription(
    server: FediverseServer, tell: Tell, how: str
) -> None:
    tell("Follow", "ada", BEES)
    tell("Follow", "bob", BEES)
    for name in ("ada", "bob"):
        follow = Follower.objects.get(uri=server.account(name)).follow_id
        assert statuses() == ["confirmed"]
        match how:
            case "undo":
                old = {"id": follow, "type": "Follow", "actor": server.account(name), "object": BEES}
                tell("Undo", name, old)
            case "undo by id":
                tell("Undo", name, follow)
            case "block":
                tell("Block", name, BEES)
            case _:
                server.gone.add(name)
                tell("Delete", name, server.account(name))
    assert followers() == []
    assert statuses() == ["unsubscribed"]


def test_a_follower_who_moved_is_followed_to_the_new_account_if_that_agrees(
    server: FediverseServer, tell: Tell
) -> None:
    tell("Follow", "ada", BEES)
    move = {"target": server.account("eve")}
    tell("Move", "ada", server.account("ada"), **move)
    assert followers() == ["ada"]
    server.changes["eve"] = {"alsoKnownAs": [server.account("ada")]}
    tell("Move", "ada", server.account("ada"), **move)
    assert followers() == ["eve"]
    assert statuses() == ["confirmed"]


def test_reactions_are_counted_for_the_editor_and_can_be_taken_back(
    bees: Subscribable, server: FediverseServer, tell: Tell
) -> None:
    issue = IssueFactory(subscribable=bees)
    place = f"{SITE}/s/bees/archive/{issue.pk}/object"
    note = {
        "id": f"{server.account('ada')}/1",
        "type": "Note",
        "inReplyTo": place,
        "content": "<p>Love<script>x()</script>ly &amp; <b>true</b></p>",
        "url": "javascript:x()",
    }
    tell("Like", "ada", place)
    tell("Announce", "bob", place)
    tell("Create", "ada", note)
    tell("Create", "ada", note)
    rows = list(Reaction.objects.order_by("pk").values_list("kind", "text", "url"))
    assert rows == [("like", "", ""), ("boost", "", ""), ("reply", "Lovely & true", "")]
    like = Reaction.objects.get(kind="like")
    tell("Undo", "ada", {"id": like.uri, "type": "Like", "actor": server.account("ada"), "object": place})
    tell("Delete", "ada", {"id": note["id"], "type": "Tombstone"})
    assert list(Reaction.objects.values_list("kind", flat=True)) == ["boost"]


def test_a_replay_does_nothing(server: FediverseServer, tell: Tell, client: Client) -> None:
    activity = server.activity("Follow", "ada", BEES)
    signed = server.signed(activity, f"{SITE}{INBOX}")
    post(client, *signed)
    tell("Undo", "ada", activity)
    assert followers() == []
    assert post(client, *signed) == 202
    assert followers() == []


def test_forgeries_are_refused(server: FediverseServer, client: Client) -> None:
    url, follow = f"{SITE}{INBOX}", server.activity("Follow", "ada", BEES)
    body, headers = server.signed(follow, url)
    old = server.signed(follow, url, now=utcnow() - timedelta(hours=3))
    ahead = server.signed(follow, url, now=utcnow() + timedelta(hours=3))
    elsewhere = {**follow, "actor": "https://other.example/users/ada", "id": "https://other.example/1"}
    foreign = server.signed(elsewhere, url, name="ada")
    unsigned = {name: value for name, value in headers.items() if name != "Signature"}
    assert post(client, body, unsigned) == 401
    assert post(client, body + b" ", headers) == 401
    assert post(client, *old) == 401
    assert post(client, *ahead) == 401
    assert post(client, *foreign) == 401
    # Of another actor of the same server: found when the key is fetched.
    post(client, *server.signed(follow, url, name="mallory"))
    assert not Activity.objects.exists()
    assert followers() == []
    assert post(client, *server.signed({**follow, "id": f"{follow['id']}-2"}, url)) == 202
    forged = server.signed({**follow, "id": f"{follow['id']}-3"}, url)
    assert (
        post(client, forged[0], forged[1] | {"Date": headers["Date"], "Signature": headers["Signature"]})
        == 401
    )
    assert followers() == ["ada"]


@pytest.mark.parametrize(
    "change",
    [
        {"id": "https://other.example/users/ada"},
        {"inbox": "https://other.example/inbox"},
        {"endpoints": {"sharedInbox": "https://other.example/inbox"}},
        {"publicKey": {"id": "https://other.example/#key", "owner": "x", "publicKeyPem": "x"}},
        {"summary": "x" * 300_000},
        {"inbox": None},
        {"publicKey": []},
    ],
)
def test_an_account_that_isnt_what_it_says_is_refused(
    server: FediverseServer, tell: Tell, change: dict[str, Any]
) -> None:
    server.changes["ada"] = change
    tell("Follow", "ada", BEES)
    assert followers() == []
    assert not Outgoing.objects.exists()


def test_no_private_address_is_called(server: FediverseServer, client: Client, settings: Any) -> None:
    settings.ALLOW_PRIVATE_NETWORKS = []
    body, headers = server.signed(server.activity("Follow", "ada", BEES), f"{SITE}{INBOX}")
    assert post(client, body, headers) == 202
    assert server.requests == []
    assert followers() == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[" * 100_000, 400),
        (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, 400),
        (b'{"type": "Follow", "actor": 7}', 400),
        (b'{"type": "Follow", "id": "https://a.example/1", "actor": "https://b.example/a"}', 400),
        (b"x" * 300_000, 413),
        (b'{"type": "Sing", "id": "https://a.example/1", "actor": "https://a.example/a"}', 202),
        (b"\xff", 400),
    ],
)
def test_bodies_of_strangers_cost_little(
    bees: Subscribable, client: Client, body: bytes, status: int
) -> None:
    assert client.post(INBOX, body, content_type="application/activity+json").status_code == status
    assert not Activity.objects.exists()


def test_a_flood_from_a_server_is_refused(
    server: FediverseServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanges, "FROM_A_HOST", Limit("fediverse host", 3))
    follows = [server.activity("Follow", f"reader{number}", BEES) for number in range(5)]
    answers = [post(client, *server.signed(follow, f"{SITE}{INBOX}")) for follow in follows]
    assert answers == [202, 202, 202, 429, 429]


def test_a_server_that_is_away_gets_our_answer_later(server: FediverseServer, tell: Tell) -> None:
    server.says = Reply(503)
    tell("Follow", "ada", BEES)
    waiting = Outgoing.objects.get()
    assert (waiting.attempts, waiting.due_at > utcnow()) == (1, True)
    server.says = None
    exchange_due(clock=lambda: utcnow() + timedelta(minutes=5))
    assert not Outgoing.objects.exists()
    assert server.received[-1]["type"] == "Accept"


def test_a_new_key_is_fetched(server: FediverseServer, tell: Tell) -> None:
    tell("Follow", "ada", BEES)
    other = public_pem(a_key("another"))
    RemoteActor.objects.update(fetched_at=utcnow() - timedelta(days=1), public_key=other)
    tell("Block", "ada", BEES)
    assert followers() == []


def test_a_newsletter_that_left_the_fediverse_takes_no_follows(
    bees: Subscribable, server: FediverseServer, tell: Tell, client: Client
) -> None:
    switch_off(bees)
    tell("Follow", "ada", BEES)
    assert followers() == []
    assert client.get("/s/bees/actor").status_code == 404


def test_an_old_account_is_named_and_the_servers_are_told(
    bees: Subscribable, server: FediverseServer, tell: Tell, client: Client
) -> None:
    tell("Follow", "ada", BEES)
    add_alias(Actor.objects.get(newsletter=bees), server.account("oldbees"), now=utcnow())
    exchange_due()
    assert client.get("/s/bees/actor").json()["alsoKnownAs"] == [server.account("oldbees")]
    assert server.received[-1]["type"] == "Update"
    assert server.received[-1]["object"]["alsoKnownAs"] == [server.account("oldbees")]


def test_a_server_that_was_away_for_weeks_is_dropped(
    bees: Subscribable, server: FediverseServer, tell: Tell
) -> None:
    tell("Follow", "ada", BEES)
    destination, now = Destination.objects.get(kind="activitypub"), utcnow()
    failed = {"destination": destination, "state": "failed"}
    DeliveryFactory(issue=IssueFactory(subscribable=bees), created_at=now, **failed)
    drop_old(now=now + timedelta(days=29))
    assert followers() == ["ada"]
    later = now + timedelta(days=20)
    answered = DeliveryFactory(
        issue=IssueFactory(subscribable=bees), created_at=later, destination=destination, state="sent"
    )
    DeliveryFactory(issue=IssueFactory(subscribable=bees), created_at=later, **failed)
    drop_old(now=now + timedelta(days=31))
    assert followers() == ["ada"]
    answered.delete()
    drop_old(now=now + timedelta(days=31))
    assert followers() == []
    assert destination.subscriptions.get(subscribable=bees).status == "unsubscribed"
    assert not Activity.objects.exists()


def test_an_activity_is_json_of_ours(client: Client, bees: Subscribable) -> None:
    finger = client.get("/.well-known/webfinger", {"resource": "acct:bees@letters.example"})
    assert finger["Content-Type"] == "application/jrd+json"
    assert finger["Access-Control-Allow-Origin"] == "*"
    (link, _) = finger.json()["links"]
    actor = client.get(link["href"].removeprefix(SITE))
    assert (actor["Content-Type"], actor.json()["id"]) == ("application/activity+json", BEES)
    for resource in ("acct:ants@letters.example", "acct:bees@other.example", "bees", f"{SITE}/s/ants/"):
        assert client.get("/.well-known/webfinger", {"resource": resource}).status_code == 404
    assert client.get("/.well-known/webfinger", {"resource": f"{SITE}/s/bees/"}).status_code == 200
    assert json.loads(client.get("/nodeinfo/2.1").content)["usage"] == {"users": {"total": 1}}
    assert client.get("/nodeinfo/3.0").status_code == 404
