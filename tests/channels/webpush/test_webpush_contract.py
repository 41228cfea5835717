"""The Web Push channel against a fake push service: the contract, and features of pushes.

Real processes: simultaneous starts get one key, and a killed worker's push is replaced.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import LaneFacts, Message, Permanent, Sent, Temporary
from channels.letter import Letter, Recipient
from channels.webpush.channel import WebPushChannel, authorization, origin_of, topic_of
from channels.webpush.message import (
    LONGEST_PUSH,
    Notification,
    base64url,
    encrypted,
    from_base64url,
    new_private_key,
    point_of,
    private_key_of,
)
from feeds.parsing.entry import Entry
from tests import forks
from tests.contracts.bridge import BridgeContract, ServiceCase, closed_port, entry, expect, letter
from tests.contracts.channel import NOW, Arrival
from tests.databases import migrated_file
from tests.e2e.processes import ROOT, clean_environment, until
from tests.examples import NIGHTLY
from tests.servers.api_server import Reply
from tests.servers.services.push_service import GONE, OTHER_KEY, Browser, PushService, refusal, text_of

BEGIN = """
import json, sys, os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "feedletter_site.settings"
django.setup()
"""
KEY = "from delivery.accounts.dkim_keys import push_public_key\nprint(push_public_key())"
# A newsletter, a device that subscribes, and an issue that is published to it.
PUBLISHED = """
from common.clock import utcnow
from delivery.issues.publish import publish
from delivery.models import Issue
from feeds.models import Feed
from subscriptions.newsletters.define import define_subscribable
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.devices import tell_device
from delivery.accounts.dkim_keys import push_public_key
push_public_key()
feed = Feed.objects.create(url="https://blog.example/f", host="blog.example", next_poll_at=utcnow())
newsletter = define_subscribable(name="bees", feeds=[feed], offers_devices=True)
tell_device(newsletter=newsletter, data=json.loads(sys.argv[1]), origin=Origin(), now=utcnow())
issue = Issue.objects.create(subscribable=newsletter, within_type_id="1", title="Swarms", token="bees-1")
print(publish(issue_id=issue.pk, now=utcnow()))
"""
SEND = "from delivery.engine.send_pass import send_due\nprint(send_due().sent)"
# Expires the lease of a killed process, which would take a minute.
LATER = """
from datetime import timedelta
from common.clock import utcnow
from delivery.models import Delivery
assert Delivery.objects.get().state == "sending"
Delivery.objects.update(lease_until=utcnow() - timedelta(seconds=1))
"""
STATE = "from delivery.models import Delivery\nrow = Delivery.objects.get()\nprint(row.state, row.attempts)"
CHANNEL = WebPushChannel()
PRIVATE_NUMBER = new_private_key()
PRIVATE = private_key_of(PRIVATE_NUMBER)
SUBJECT = "mailto:letters@example.org"
LEAVE = "https://letters.example/unsubscribe/1-abc/"
PATH = "/push/secret-of-this-device"
HOSTILE = st.text(max_size=3_000) | st.sampled_from(
    ['"\\' * 3_000, "\x00\ud800" * 900, "🦄" * 3_000, "x" * 9_000]
)


def at(secrets: dict[str, str]) -> Recipient:
    return Recipient(1, "core", "a device", secrets=secrets, unsubscribe_url=LEAVE)


def composed(secrets: dict[str, str], of: Letter | None = None) -> Message[Notification]:
    return CHANNEL.composer(of or letter())(at(secrets))


class Pushing(ServiceCase):
    channel = CHANNEL
    lane = LaneFacts("webpush", "Devices", {"private": PRIVATE_NUMBER})
    service: PushService

    def server(self) -> PushService:
        made = PushService(now=NOW)
        made.browsers[PATH] = Browser(PATH, secret=b"\x07" * 16)
        return made

    def recipient(self) -> Recipient:
        return at({**self.service.subscribe(PATH), "endpoint": f"{self.url}{PATH}"})

    def push(self, device: dict[str, str] | None = None, of: Letter | None = None, **arguments: Any) -> Any:
        return self.post(composed(device or self.service.subscribe(), of), **arguments)


class TestWebPushContract(Pushing, BridgeContract):
    refused = refusal(400, "bad request")
    token_is_address = True
    unauthorised = OTHER_KEY
    gone = GONE
    secrets = (PATH.removeprefix("/push/"), text_of(b"\x07" * 16))
    any_body_will_do = True

    # Newsletters have no template for devices.
    test_a_template_is_posted_in_its_words = None  # type: ignore[assignment]
    # A notification needs a page to open, and each newsletter for devices has one.
    test_a_post_without_a_web_link_is_posted_in_its_words = None  # type: ignore[assignment]
    test_a_post_without_title_and_link_is_posted_with_its_whole_text = None  # type: ignore[assignment]
    test_a_digest_without_a_page_is_posted = None  # type: ignore[assignment]

    def arrived(self) -> list[Arrival]:
        return [
            Arrival(topic, f"{said['title']}\n{said.get('body', '')}")
            for (_, topic), said in self.service.waiting.items()
        ]

    def acceptable(self, arrival: Arrival) -> bool:
        [said] = self.service.waiting.values()
        return bool(said["url"].startswith("https://") and said["leave"] == LEAVE)

    def is_harmless(self, text: str) -> bool:
        """Notifications are plain text; no part of the post may become another field."""
        known = {"title", "body", "url", "tag", "icon", "lang", "leave", "leave_label"}
        return all(said.keys() <= known for said in self.service.taken)


class TestPushing(Pushing):
    def test_it_says_what_it_is_about_and_leads_to_the_issue(self) -> None:
        issue = "https://letters.example/s/bees/archive/7/"
        of = letter(web_url=issue, entries=(entry("Swarms", summary="On <b>swarms</b>."),))
        assert self.push(of=of, key="t-1") == Sent(topic_of("t-1"))
        assert self.service.taken == [
            {
                "title": "Swarms", "body": "Bees · Ada\nOn swarms.", "url": issue, "tag": topic_of("t-1"),
                "leave": LEAVE, "leave_label": "Stop notifications on this device",
            }
        ]  # fmt: skip

    def test_its_words_are_in_the_language_of_the_newsletter(self) -> None:
        said = composed({"endpoint": "", "p256dh": "", "auth": ""}, letter(language="de"))
        assert said.body.leave_label != "Stop notifications on this device"

    def test_a_body_of_the_full_length_is_taken(self) -> None:
        of = letter(entries=(entry(summary="🦄🦄🦄 " * 1_000),))
        assert isinstance(self.push(of=of), Sent)
        assert 4_000 < len(self.service.requests[0].body) <= 4_096

    def test_a_service_that_takes_less_gets_less(self) -> None:
        self.service.longest = 2_500
        of = letter(entries=(entry(summary="Wörter " * 3_000),))
        assert isinstance(self.push(of=of), Sent)
        assert len(self.service.requests) == 2

    def test_one_token_serves_all_devices_of_a_service(self) -> None:
        session = self.session()
        for number in range(3):
            self.push(self.service.subscribe(f"/push/{number}"), on=session, key=str(number))
        assert len({request.headers["authorization"] for request in self.service.requests}) == 1
        assert len(self.service.taken) == 3

    @pytest.mark.parametrize(
        "said", [Reply(429), Reply(503), Reply(403, "BadJwtToken"), Reply(401), Reply(500)]
    )
    def test_no_answer_to_one_device_stops_the_others(self, said: Reply) -> None:
        """Anyone may name a push service of their own."""
        self.service.says = said
        expect(self.push(), Temporary, stops_lane=False, stops_account=False)

    def test_nor_does_a_service_that_cannot_be_reached(self) -> None:
        gone = {**self.service.subscribe(), "endpoint": f"{closed_port()}/x"}
        expect(self.push(gone), Temporary, stops_lane=False)

    def test_a_key_that_is_not_accepted_is_said_with_what_to_look_at(self) -> None:
        self.service.now = NOW - timedelta(days=3)
        expect(self.push(), Temporary, "clock")

    def test_a_device_that_was_promised_to_another_key_is_disabled(self) -> None:
        self.service.public_key = base64url(point_of(private_key_of(new_private_key()).public_key()))
        expect(self.push(), Permanent, disables=True)

    def test_without_its_key_nothing_is_sent_and_all_of_it_waits(self) -> None:
        expect(self.push(on=self.session(credentials={})), Temporary, "SECRET_KEY", stops_lane=True)
        assert self.service.requests == []

    def test_a_link_beyond_measure_fails_this_message_and_not_the_device(self) -> None:
        of = letter(entries=(entry(link="https://e.example/" + "x" * 5_000),))
        expect(self.push(of=of), Permanent, disables=False)
        assert self.service.requests == []

    @pytest.mark.parametrize(("length", "has_icon"), [(20, True), (3_000, False)])
    def test_the_posts_picture_is_its_icon_where_that_leaves_room_for_words(
        self, length: int, has_icon: bool
    ) -> None:
        picture = "https://e.example/" + "p" * length
        of = letter(entries=(entry("Swarms", image=picture, summary="On swarms."),))
        assert isinstance(self.push(of=of), Sent)
        assert self.service.taken[0].get("icon") == (picture if has_icon else None)
        assert self.service.taken[0]["body"].endswith("On swarms.")

    def test_a_device_whose_key_was_damaged_is_disabled(self) -> None:
        expect(self.push({**self.service.subscribe(), "p256dh": "AAAA"}), Permanent, disables=True)

    def test_the_channel_takes_its_key_from_its_account(self) -> None:
        number = new_private_key()
        facts = LaneFacts("webpush", "Devices", {"private": number})
        made = CHANNEL.connect(facts)
        assert made.private is not None
        assert point_of(made.private.public_key()) == point_of(private_key_of(number).public_key())

    def test_a_preview_says_how_long_it_is(self) -> None:
        looks = CHANNEL.preview(composed({}, letter("Swarms")))
        assert looks.text.startswith("Swarms\n")
        assert 0 < looks.length <= looks.limit == LONGEST_PUSH


class TestTheServiceOfTheTests(Pushing):
    """A fake that accepts everything would prove nothing."""

    def test_it_refuses_what_a_real_one_refuses(self) -> None:
        to = self.service.subscribe()
        self.push(to)
        good = self.service.requests[0]

        def answer(body: bytes = good.body, **headers: str | None) -> int:
            changed = {**good.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
            kept = {name: value for name, value in changed.items() if value is not None}
            return self.service.usual(replace(good, headers=kept, body=body)).status

        def token(audience: str, at: Any = NOW, subject: str = SUBJECT) -> str:
            return authorization(PRIVATE, audience=audience, subject=subject, now=at)

        assert answer() == 201
        assert answer(ttl=None) == 400
        assert answer(topic="x" * 33) == 400
        assert answer(content_encoding="aesgcm") == 400
        assert answer(body=good.body + b"x" * 4_096) == 413
        assert answer(body=good.body[:-1] + bytes([good.body[-1] ^ 1])) == 400
        assert answer(authorization=None) == 401
        jwt, _, public = good.headers["authorization"].partition(", k=")
        assert answer(authorization=f"{jwt[:-20]}{'A' * 20}, k={public}") == 403
        assert answer(authorization=token("https://other.example")) == 403
        assert answer(authorization=token(self.service.url, NOW + timedelta(hours=13))) == 403
        assert answer(authorization=token(self.service.url, NOW - timedelta(hours=13))) == 403
        assert answer(authorization=token(self.service.url, subject="me")) == 403
        other = private_key_of(new_private_key())
        assert (
            answer(authorization=authorization(other, audience=self.service.url, subject=SUBJECT, now=NOW))
            == 403
        )


def test_the_example_of_rfc_8291_comes_out_to_the_octet() -> None:
    """RFC 8291, §5 and appendix A."""
    made = encrypted(
        b"When I grow up, I want to be a watermelon",
        p256dh="BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        auth="BTBZMqHH6r4Tts7J_aSIgg",
        private=private_key_of("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
        salt=from_base64url("DGv6ra1nlYgDCS1FRnbzlw", 16),
    )
    assert base64url(made) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz"
        "AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


@pytest.mark.parametrize(
    ("endpoint", "origin"),
    [
        ("https://Push.example/a/b?c", "https://push.example"),
        ("https://push.example:443/a", "https://push.example"),
        ("https://push.example:8443/a", "https://push.example:8443"),
    ],
)
def test_a_token_is_made_out_to_the_origin(endpoint: str, origin: str) -> None:
    assert origin_of(endpoint) == origin


class TestDestination:
    good: ClassVar[dict[str, str]] = {
        "endpoint": "https://push.example/wpush/v2/abc",
        "p256dh": text_of(Browser("").point),
        "auth": text_of(b"1" * 16),
    }

    def test_it_is_known_by_its_endpoint_which_only_it_may_show(self) -> None:
        made = CHANNEL.parse_destination(self.good)
        assert made.core.endswith("@push.example")
        assert made.core == CHANNEL.parse_destination(self.good).core
        assert (
            made.core != CHANNEL.parse_destination({**self.good, "endpoint": "https://push.example/2"}).core
        )
        assert "abc" not in made.core + made.label
        assert CHANNEL.domain(made.core) == "push.example"

    def test_a_loopback_service_may_be_used_where_the_operator_allows_it(self, settings: Any) -> None:
        from ipaddress import ip_network

        settings.ALLOW_PRIVATE_NETWORKS = [ip_network("127.0.0.1/32")]
        assert CHANNEL.parse_destination({**self.good, "endpoint": "http://127.0.0.1:99/1"}).core


@pytest.mark.slow
@given(HOSTILE, HOSTILE, HOSTILE)
def test_any_notification_fits(title: str, summary: str, newsletter: str) -> None:
    post: Entry = entry(title, summary=summary, content=summary)
    made = composed(
        {}, letter(entries=(post,), newsletter_title=newsletter, web_url="https://e.example/" + "7" * 500)
    )
    for most in (LONGEST_PUSH, 2_000):
        written = made.body.payload(topic_of("k"), LEAVE, most=most)
        assert len(written) <= most
        said = json.loads(written)
        assert said["url"] == "https://e.example/" + "7" * 500
        assert said["leave"] == LEAVE
        assert said["title"] or not title.strip()


@given(st.text(min_size=1))
def test_any_key_makes_a_topic(key: str) -> None:
    assert len(topic_of(key)) == 32
    assert topic_of(key) == topic_of(key)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a new installation with all tables."""
    shutil.copy(migrated_file(), tmp_path / "feedletter.db")
    return clean_environment(
        {
            "SECRET_KEY": "s3cret-" * 8,
            "DATA_DIR": str(tmp_path),
            "DATABASE_URL": f"sqlite:///{tmp_path}/feedletter.db",
            "ALLOW_PRIVATE_NETWORKS": "127.0.0.1/32",
            "SITE_URL": "http://127.0.0.1:9",
        }
    )


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as running:
        yield running


def process(code: str, *arguments: str, environment: dict[str, str]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", BEGIN + code, *arguments]
    return forks.Process(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def said(code: str, *arguments: str, environment: dict[str, str]) -> str:
    """Return the last line that the process printed; assert success."""
    running = process(code, *arguments, environment=environment)
    printed, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    return printed.strip()


@NIGHTLY
def test_processes_that_start_at_once_end_with_one_key(environment: dict[str, str]) -> None:
    four = [process(KEY, environment=environment) for _ in range(4)]
    keys = {one.communicate(timeout=120)[0].strip() for one in four}
    assert [one.returncode for one in four] == [0] * 4
    assert len(keys) == 1
    assert len(keys.pop()) == 87


@NIGHTLY
def test_a_push_whose_worker_was_killed_is_replaced_by_its_repetition(
    environment: dict[str, str], service: PushService
) -> None:
    import json

    assert said(PUBLISHED, json.dumps(service.subscribe()), environment=environment) == "1"
    # The push is accepted, and no response is sent: then the worker is killed.
    service.says = Reply(takes=True, silent=True)
    worker: Any = process(SEND, environment=environment)
    until(lambda: service.taken, "the push", 60)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    service.says = None
    said(LATER, environment=environment)
    assert said(SEND, environment=environment) == "1"
    assert said(STATE, environment=environment).startswith("sent")
    assert len(service.taken) == 2
    # One push waits at the service, and one notification is shown: both have the same name.
    assert len(service.waiting) == 1
    assert len({message["tag"] for message in service.taken}) == 1
