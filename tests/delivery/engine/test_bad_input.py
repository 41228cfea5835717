"""Bad input from posts or services ends in a clear error, and affects no other bridge."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from PIL import Image

from channels.base import CrashPolicy
from common.clock import utcnow
from delivery.issues.pause import retry_delivery
from delivery.models import Attempt, Delivery, Lane
from feeds.parsing.entry import Media
from subscriptions.models import Destination, Subscribable
from tests.channels.bluesky.test_bluesky_contract import TestBlueskyContract as Bluesky
from tests.channels.mastodon.test_mastodon_contract import TestMastodonContract as Mastodon
from tests.channels.telegram.test_telegram_contract import TestTelegramContract as Telegram
from tests.contracts.bridge import LINK, MARKUP, BridgeContract, entry
from tests.delivery.engine.bridge_contracts import (
    a_bridge_of,
    at_its_service,
    contracts,
    look,
    look_every_two_minutes,
    publish_posts,
    told_secrets,
)
from tests.examples import some_now
from tests.pictures import octets_of
from tests.servers.api_server import Reply, Request
from tests.servers.picture_host import PictureHost

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback_allowed")]
FAMILY = "👩\u200d👩\u200d👧\u200d👦"
EVERYBODY = "@everyone @here <@&9> <!channel> @room"
PARENTHESES = "https://en.example/wiki/Bee_(insect)?a=(b)&c=[d]"
POSTS = {
    "a title of 10 KB": entry("Wörter " * 1_500, summary="Sätze. " * 1_500),
    "a word of 10 KB": entry("ß" * 5_000, authors=("ß" * 5_000,)),
    "emoji sequences": entry(FAMILY * 700, summary="🏳️\u200d🌈🇨🇿1️⃣" * 700),
    "bidi controls": entry("A \u202egnp.exe\u2066 \u200f\u061cB", authors=("\u202eAda",)),
    "markup everywhere": entry(
        MARKUP, summary=MARKUP, authors=(MARKUP,), categories=(MARKUP,), content=f"<p>{MARKUP}</p>"
    ),
    "everybody is called": entry(
        EVERYBODY, summary=EVERYBODY, authors=(EVERYBODY,), categories=("@everyone",)
    ),
    "a link with parentheses": entry("A post", link=PARENTHESES),
    "many names": entry("A post", authors=tuple(f"Ada {n}" for n in range(500)), categories=("bees",) * 500),
}
BRIDGES = list(contracts())
ANSWERS = {
    "3 MB": Reply(body=b'{"id": "1", "x": "' + b"x" * 3_000_000 + b'"}'),
    "NULs": Reply(body=b"\x00" * 2_000),
    "an octet at a time": Reply(body="x" * 600, drips=True),
    "an error of NULs and controls": Reply(500, b'{"message": "a\\u0000b\\u001b[31m\\u202ec"}'),
}


@contextmanager
def another_beside(contract: type[BridgeContract]) -> Iterator[Any]:
    """Run a bridge to another service, which has to go on."""
    with at_its_service(Telegram if issubclass(contract, Mastodon) else Mastodon) as other:
        yield other


def assert_it_was_posted_beside(other: Any) -> None:
    assert len(other.arrived()) == 1
    assert Delivery.objects.get(lane__account=other.recipient().core).state == "sent"


def words_of(row: Delivery) -> list[str]:
    return [row.last_error, *Attempt.objects.filter(delivery=row).values_list("text", flat=True)]


@pytest.mark.parametrize(("post", "contract"), some_now([(name, each) for each in BRIDGES for name in POSTS]))
def test_what_stands_in_a_post_goes_out_as_words_that_fit(
    post: str, contract: type[BridgeContract], caplog: pytest.LogCaptureFixture
) -> None:
    with at_its_service(contract) as bridge:
        row = publish_posts(a_bridge_of(bridge), start := utcnow(), POSTS[post])
        look_every_two_minutes(start)
        row.refresh_from_db()
        assert (row.state, row.last_error) == ("sent", "")
        [arrival] = bridge.arrived()
        # The judges know one link.
        if POSTS[post].link == LINK:
            assert bridge.is_harmless(arrival.text)
            assert bridge.acceptable(arrival)
        assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(arrival.text)
        # No sequence is cut in two: outside whole ones there is no joiner.
        assert "\u200d" not in arrival.text.replace(FAMILY, "").replace("🏳️\u200d🌈", "")
        assert told_secrets(bridge, [caplog.text]) == []


@pytest.mark.parametrize("contract", some_now(BRIDGES))
def test_no_picture_stops_a_post(contract: type[BridgeContract], caplog: pytest.LogCaptureFixture) -> None:
    with at_its_service(contract) as bridge, PictureHost() as host:
        host.has(octets_of(Image.new("1", (10_000, 10_000))), "/100-megapixels.png")
        host.has(b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "/drawing.svg")
        host.has(b"\x89PNG\r\n\x1a\n" + b"\x00" * 500, "/broken.png")
        host.drawn("/good.png")
        host.paths["/elsewhere.png"] = Reply(302, headers={"Location": "http://169.254.169.254/latest/"})
        names = ("100-megapixels.png", "drawing.svg", "broken.png", "elsewhere.png", "good.png")
        urls = [f"{host.url}/{name}" for name in names]
        urls += [f"{host.url}/missing-{n}.png" for n in range(18)]
        urls += [f"http://10.0.0.{n}/private.png" for n in range(1, 18)]
        media = tuple(Media(url, "image/png", alt=MARKUP) for url in urls)
        row = publish_posts(a_bridge_of(bridge), start := utcnow(), entry("A post", media=media))
        look_every_two_minutes(start)
        row.refresh_from_db()
        assert (row.state, row.last_error) == ("sent", "")
        [arrival] = bridge.arrived()
        assert bridge.is_harmless(arrival.text)
        # It requests no more than a service accepts, plus failed ones.
        assert len(host.requests) <= len(names) + 18
        assert told_secrets(bridge, [caplog.text]) == []


@pytest.mark.parametrize(
    ("answer", "contract"), some_now([(name, each) for each in BRIDGES for name in ANSWERS])
)
def test_an_answer_that_proves_nothing_is_said_and_loses_nothing(
    answer: str,
    contract: type[BridgeContract],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if "Apprise" in contract.__name__ and ANSWERS[answer].drips:
        pytest.skip("Apprise reads for itself; its lane waits for it, and no other does.")
    monkeypatch.setattr("channels.http.transport.MAX_SECONDS", 0.5)
    with at_its_service(contract) as bridge, another_beside(contract) as beside:
        start = utcnow()
        row = publish_posts(a_bridge_of(bridge), start)
        publish_posts(a_bridge_of(beside), start)
        bridge.service.says = ANSWERS[answer]
        look(start)
        assert_it_was_posted_beside(beside)
        row.refresh_from_db()
        if row.state == "sent":
            assert bridge.any_body_will_do
            return
        said = words_of(row)
        assert all(words.strip() and words.isprintable() for words in said if words)
        assert any(said) or Lane.objects.get(pk=row.lane_id).last_error
        assert told_secrets(bridge, [*said, caplog.text]) == []
        bridge.service.says = None
        monkeypatch.setattr("channels.http.transport.MAX_SECONDS", 30.0)
        look_every_two_minutes(start + timedelta(minutes=20))
        row.refresh_from_db()
        if row.state != "sent":
            assert bridge.channel.crash_policy is CrashPolicy.HOLD
            assert (row.state, bridge.arrived()) == ("held", [])
            retry_delivery(delivery=row, now=(again := start + timedelta(hours=1)))
            look_every_two_minutes(again)
        row.refresh_from_db()
        assert row.state == "sent"
        assert len({arrival.identity for arrival in bridge.arrived()}) == 1


@pytest.mark.parametrize("contract", some_now(BRIDGES))
def test_a_token_that_is_revoked_half_way_loses_no_post(
    contract: type[BridgeContract], caplog: pytest.LogCaptureFixture
) -> None:
    with at_its_service(contract) as bridge, another_beside(contract) as beside:
        start, made = utcnow(), a_bridge_of(bridge)
        rows = [publish_posts(made, start, entry("Post 0"))]
        look(start)
        bridge.service.says = bridge.unauthorised
        rows += [publish_posts(made, start, entry(f"Post {n}")) for n in (1, 2)]
        publish_posts(a_bridge_of(beside), start)
        before = len(bridge.service.requests)
        look_every_two_minutes(start + timedelta(minutes=2), times=6)
        assert_it_was_posted_beside(beside)
        assert rows_in(rows)[0] == "sent"
        assert set(rows_in(rows)[1:]) <= {"queued", "deferred", "failed", "cancelled"}
        # A named bot asks for its name and its webhooks each time.
        assert len(bridge.service.requests) - before <= 3 * 6
        told = [words for row in rows for words in words_of(row)]
        told += Lane.objects.values_list("last_error", flat=True)
        told += Destination.objects.values_list("disabled_reason", flat=True)
        assert any(told)
        assert told_secrets(bridge, [*told, caplog.text]) == []
        # The admin connects it again, and retries what had failed.
        bridge.service.says = None
        later = start + timedelta(hours=2)
        Destination.objects.update(disabled_at=None, disabled_reason="")
        Lane.objects.update(free_at=None, failures=0, last_error="")
        for row in Delivery.objects.filter(state__in=["failed", "cancelled"]):
            retry_delivery(delivery=row, now=later)
        look_every_two_minutes(later)
        assert rows_in(rows) == ["sent"] * 3
        assert len({arrival.identity for arrival in bridge.arrived()}) == 3


def rows_in(rows: list[Delivery]) -> list[str]:
    states: dict[int, str] = dict(Delivery.objects.values_list("pk", "state"))
    return [states[row.pk] for row in rows]


def a_thread_that_is_refused_after_its_first_part(bridge: Any, start: datetime, answer: Reply) -> Delivery:
    made = a_bridge_of(bridge, thread="on")
    Subscribable.objects.filter(pk=made.pk).update(arrangement="daily")
    made.refresh_from_db()
    usual = bridge.service.usual

    def refused_after_the_first(request: Request) -> Reply:
        is_over = bridge.service.posts(request) and bridge.arrived()
        said: Reply = answer if is_over else usual(request)
        return said

    bridge.service.usual = refused_after_the_first
    posts = [entry(f"Post {n} {'of bees ' * 9}", link=f"{LINK}&n={n}") for n in range(20)]
    row = publish_posts(made, start, *posts)
    look_every_two_minutes(start)
    bridge.service.usual = usual
    row.refresh_from_db()
    return row


@pytest.mark.parametrize("contract", some_now([Mastodon, Bluesky]))
def test_a_thread_whose_token_is_revoked_half_way_continues_when_it_is_connected_again(
    contract: type[BridgeContract],
) -> None:
    with at_its_service(contract) as bridge:
        start = utcnow()
        row = a_thread_that_is_refused_after_its_first_part(bridge, start, bridge.unauthorised)
        assert row.state == "queued"
        assert len(bridge.arrived()) == 1
        Lane.objects.update(free_at=None, failures=0, last_error="", refused_since=None)
        look_every_two_minutes(start + timedelta(days=5))
        row.refresh_from_db()
        assert row.state == "sent"
        texts = [arrival.text for arrival in bridge.arrived()]
        assert len(texts) > 1
        assert len(set(texts)) == len(texts)


def test_a_thread_whose_account_goes_half_way_says_where_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    with at_its_service(Bluesky) as bridge:
        row = a_thread_that_is_refused_after_its_first_part(bridge, utcnow(), bridge.gone)
        assert row.state == "sent"
        assert len(bridge.arrived()) == 1
        [attempt] = Attempt.objects.filter(delivery=row)
        assert attempt.outcome == "in part"
        assert attempt.text.startswith("The thread ends after 1 of ")
        assert told_secrets(bridge, [attempt.text, caplog.text]) == []
