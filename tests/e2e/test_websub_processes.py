"""The whole program in its own processes with a blog and its hub.

A push in chunks is stored and reaches the stream of a reader; removal unsubscribes.
"""

import http.client
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.journey import SECRET
from tests.e2e.processes import answers, manage, running, until
from tests.examples import NIGHTLY
from tests.feeds.watched import post
from tests.reader.streams.open import events_of
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer
from tests.servers.hub import Hub, signature
from tests.services import free_port

pytestmark = pytest.mark.slow


@pytest.mark.needs("reader")
@NIGHTLY
def test_a_push_in_chunks_arrives_through_the_real_server(tmp_path: Path) -> None:
    port = free_port()
    site = f"http://127.0.0.1:{port}"
    environment = {
        "SECRET_KEY": SECRET,
        "DATA_DIR": str(tmp_path / "data"),
        "DATABASE_URL": f"sqlite:///{tmp_path}/data/feedletter.db",
        "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
        "POLL_HOST_GAP": "0",
        "BIND": f"127.0.0.1:{port}",
        "SITE_URL": site,
    }
    command = [sys.executable, "manage.py", "up"]
    with Hub() as hub, FeedServer() as blog, running("up", command, environment, tmp_path):
        until(lambda: answers(f"{site}/readyz"), "the start", 240)
        links = f'<{hub.url}>; rel="hub", <{blog.url("/feed.xml")}>; rel="self"'
        blog.serve("/feed.xml", rss([post("old")]), headers={"Link": links})
        feed = manage("add_feed", blog.url("/feed.xml"), environment=environment)["id"]
        (subscriber,) = until(lambda: list(hub.subscribers.values()), "the subscription", 75)

        key = manage("add_reader", "ada", environment=environment)["key"]
        manage("follow", "ada", blog.url("/feed.xml"), environment=environment)
        with urllib.request.urlopen(stream_of("ada", site, key), timeout=30) as stream:
            assert next(heard(stream))[0] == "started"
            began = time.monotonic()
            assert send_chunked(subscriber.callback, rss([post("new")]), subscriber.secret) == 202
            name, _, item = next(heard(stream))
            assert (name, item["name"]) == ("new-item", "Post new")
            # It takes at most three on an otherwise idle machine.
            assert time.monotonic() - began < 8
        manage("unfollow", "ada", str(feed), environment=environment)
        items = manage("list_items", "--feed", str(feed), "--state", "unassigned", environment=environment)
        assert [item["guid"] for item in items] == ["new"]

        manage("drop_feed", str(feed), "--force", environment=environment)
        until(lambda: "unsubscribe" in hub.modes(), "the end of the subscription", 75)
        until(lambda: not hub.subscribers, "its verification")


def stream_of(reader: str, site: str, key: str) -> urllib.request.Request:
    address = f"{site}/microsub/{reader}?action=events"
    return urllib.request.Request(address, headers={"Authorization": f"Bearer {key}"})


def heard(stream: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield events as they arrive."""
    lines = ""
    for line in stream:
        lines += line.decode()
        if line == b"\n":
            yield from events_of(lines)
            lines = ""


def send_chunked(callback: str, body: bytes, secret: str) -> int:
    """Return the status. Sent in chunks, as by hubs that do not know the length beforehand."""
    parts = urlsplit(callback)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    headers = {"X-Hub-Signature": signature(body, secret), "Content-Type": "application/rss+xml"}
    pieces = (body[start : start + 100] for start in range(0, len(body), 100))
    connection.request(
        "POST", parts.path, pieces, {**headers, "Transfer-Encoding": "chunked"}, encode_chunked=True
    )
    return connection.getresponse().status
