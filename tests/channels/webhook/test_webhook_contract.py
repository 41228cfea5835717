"""The webhook channel against a fake receiver: the contract, and the payload."""

import json
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Permanent, Sent, Temporary
from channels.letter import Letter
from channels.rules.webhooks import signed_headers
from channels.webhook.bridge import WebhookBridge
from feeds.parsing.entry import Media
from tests.contracts.bridge import LINK, BridgeContract, ServiceCase, entry, expect, letter, recipient_of
from tests.contracts.channel import NOW, Answer, Arrival
from tests.servers.api_server import Reply
from tests.servers.services.incoming_webhooks import LONGEST, PATH, SECRET, WebhookReceiver

CHANNEL = WebhookBridge()
FIELDS = {"account": "shop", "webhook_url": "https://shop.example/in", "signing_secret": SECRET}
HOSTILE = st.text(max_size=3_000) | st.sampled_from(['"\\' * 3_000, "\x00\ud800" * 900, "🦄" * 3_000])


@pytest.fixture(autouse=True)
def _receivers_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Receivers refuse a call that is five minutes old; this one uses the contract's time."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return NOW

    monkeypatch.setattr("standardwebhooks.webhooks.datetime", Clock)


class Webhook(ServiceCase):
    channel, made_by = CHANNEL, WebhookReceiver
    given: ClassVar = {**FIELDS, "webhook_url": f"{{url}}{PATH}"}
    service: WebhookReceiver


class TestWebhookContract(Webhook, BridgeContract):
    not_applicable: ClassVar[dict[Answer, str]] = {
        Answer.REFUSED: "A receiver refuses for good by 410 only, and then everything."
    }
    token_is_address = True
    refused = unauthorised = gone = Reply(410, {"error": "no more"})
    any_body_will_do = True
    secrets = (SECRET, PATH)

    def arrived(self) -> list[Arrival]:
        return [Arrival(key, said["data"]["text"]) for key, said in self.service.calls.items()]

    def acceptable(self, arrival: Arrival) -> bool:
        said = self.service.calls[arrival.identity]
        return said["data"]["posts"][0]["link"] == LINK and LINK in arrival.text

    def is_harmless(self, text: str) -> bool:
        """It is JSON; the receiver decides how to use its texts."""
        return True


class TestCalls(Webhook):
    def test_a_post_is_told_with_what_is_known_of_it(self) -> None:
        post = entry(
            "Bees", summary="On <b>bees</b>.", categories=("Urban bees",), language="en",
            media=(Media("https://e.example/a.png", "image/png", alt="A bee"),),
            published=datetime(2026, 3, 1, 12, tzinfo=UTC),
        )  # fmt: skip
        told = letter("Bees", entries=(post,), web_url="https://l.example/bees/archive/7/")
        assert self.post(told, key="t-1") == Sent("t-1")
        assert self.service.calls["t-1"] == {
            "type": "post.published", "timestamp": "2026-03-04T05:06:07+00:00", "version": 1,
            "data": {
                "id": "t-1",
                "newsletter": {"name": "bees", "title": "Bees"},
                "issue": {
                    "url": "https://l.example/bees/archive/7/", "title": "Bees",
                    "published_at": "2026-03-04T05:06:07+00:00",
                },
                "text": f"[bees] New Post: Bees, by Ada {LINK}",
                "total": 1,
                "posts": [{
                    "title": "Bees", "link": LINK, "authors": ["Ada"], "summary": "On bees.",
                    "images": [{"url": "https://e.example/a.png", "alt": "A bee"}],
                    "categories": ["Urban bees"], "published": "2026-03-01T12:00:00+00:00", "updated": None,
                    "language": "en",
                }],
            },
        }  # fmt: skip

    def test_a_correction_is_a_call_of_its_own_about_the_same_post(self) -> None:
        self.post(key="t-1")
        assert self.edit(letter(), "t-1") == Sent("t-1")
        assert [said["type"] for said in self.service.calls.values()] == ["post.published", "post.updated"]
        assert {said["data"]["id"] for said in self.service.calls.values()} == {"t-1"}

    def test_a_digest_needs_no_archive(self) -> None:
        posts = tuple(entry(f"T{n}", link=f"https://blog.example/{n}") for n in range(3))
        assert self.post(letter("T0, and 2 more", entries=posts, is_digest=True), key="t-1") == Sent("t-1")
        [said] = self.service.calls.values()
        assert said["type"] == "digest.published"
        assert [post["title"] for post in said["data"]["posts"]] == ["T0", "T1", "T2"]

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
    def test_a_receiver_that_refuses_may_take_it_later(self, status: int) -> None:
        self.service.says = Reply(status, {"error": "not now"})
        expect(self.post(), Temporary, stops_lane=False)

    def test_a_link_beyond_measure_is_refused_here(self) -> None:
        expect(self.post(letter(entries=(entry(link="https://e.example/" + "x" * 30_000),))), Permanent)
        assert self.service.requests == []


def body_of(of: Letter) -> bytes:
    message = CHANNEL.compose(of, recipient_of(CHANNEL, FIELDS))
    assert not message.refusal
    made: bytes = message.body.json("published", "k" * 64)
    return made


def test_the_html_comes_along_if_it_was_asked_for() -> None:
    for option, expected in (("html", "<p>All <b>of</b> it</p>"), ("", None)):
        post = entry(content="<p onclick='x'>All <b>of</b> it</p>")
        said = json.loads(body_of(letter(entries=(post,), options={"content": option})))
        assert said["data"]["posts"][0].get("content") == expected


def test_the_signature_is_that_of_the_published_vector() -> None:
    signed = signed_headers(
        event_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        at=datetime.fromtimestamp(1614265330, UTC),
        body=b'{"test": 2432232314}',
        secrets=[SECRET],
    )
    assert signed["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


class TestDestination:
    def test_its_address_is_a_secret_and_its_name_is_not(self) -> None:
        made = CHANNEL.parse_destination(
            {"account": "Shop", "webhook_url": "https://Shop.example/in?k=1", "signing_secret": SECRET[6:]}
        )
        assert made.core == "shop@shop.example"
        assert made.secrets == {"webhook_url": "https://shop.example/in?k=1", "signing_secret": SECRET}


@pytest.mark.slow
@given(HOSTILE, HOSTILE, st.lists(HOSTILE, max_size=30), st.integers(1, 60))
def test_any_call_is_small(title: str, summary: str, names: list[str], count: int) -> None:
    post = entry(title, summary=summary, content=summary, authors=tuple(names), categories=tuple(names))
    told = letter(entries=(post,) * count, is_digest=count > 1, web_url=LINK)
    assert len(body_of(told)) <= LONGEST
