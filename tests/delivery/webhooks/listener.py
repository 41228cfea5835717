"""Receivers of webhooks on loopback, and their common helpers."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from standardwebhooks.webhooks import Webhook as Verifier

from common.ports.events import EventKind
from delivery.models import Webhook
from delivery.webhooks.outbox import add_webhook
from tests.factories import NOW
from tests.servers.feed_server import FeedServer, Reply, Request


class Receiver:
    """Receiver that verifies calls and sends scripted responses."""

    def __init__(self, server: FeedServer, path: str = "/hook") -> None:
        self.url = server.answer(path, self._take)
        self.secret = ""
        self.replies: list[Reply | int] = []
        self.seconds = 0.0
        self.got: list[tuple[str, dict[str, Any]]] = []
        self._server = server

    @property
    def ids(self) -> list[str]:
        return [event_id for event_id, _ in self.got]

    @property
    def types(self) -> list[str]:
        return [body["type"] for _, body in self.got]

    def _take(self, request: Request) -> Reply:
        assert request.method == "POST"
        assert request.headers["content-type"] == "application/json"
        event_id = request.headers["webhook-id"]
        # Its `verify` also checks the real time, which tests are often ahead of.
        at = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
        expected = Verifier(self.secret).sign(event_id, at, request.body.decode())
        if expected not in request.headers["webhook-signature"].split(" "):
            return Reply(status=401)
        self.got.append((event_id, json.loads(request.body)))
        if self.seconds:
            self._server.pause(self.seconds)
        reply = self.replies.pop(0) if self.replies else 204
        return reply if isinstance(reply, Reply) else Reply(status=reply)


def a_webhook(receiver: Receiver, *events: str, **more: Any) -> Webhook:
    """Return a webhook that calls the receiver; without events, of all of them."""
    facts = {"name": "CRM", "url": receiver.url, "events": events or list(EventKind), "now": NOW, **more}
    webhook, receiver.secret = add_webhook(**facts)
    return webhook


@contextmanager
def receivers(count: int = 1) -> Iterator[list[Receiver]]:
    with FeedServer() as server:
        yield [Receiver(server, f"/hook/{number}") for number in range(count)]
