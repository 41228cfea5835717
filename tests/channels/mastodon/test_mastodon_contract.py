"""The Mastodon channel against a fake instance: the contract, and its requests."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from channels.base import Channel, Permanent, Sent, Session, Temporary
from channels.letter import Recipient
from channels.mastodon.message import Instance, instances
from tests.channels.mastodon import letters
from tests.channels.mastodon.letters import CHANNEL, LINK, message, send, session
from tests.contracts.bridge import BridgeContract
from tests.contracts.channel import NOW, Arrival
from tests.servers.mastodon_instance import TOKEN, MastodonInstance, Reply


@pytest.fixture
def instance() -> Iterator[MastodonInstance]:
    with MastodonInstance() as server:
        yield server


class TestMastodonContract(BridgeContract):
    channel: ClassVar[Channel] = CHANNEL
    refused = Reply(422, {"error": "Validation failed: Text can't be blank"})
    unauthorised = Reply(401, {"error": "The access token was revoked"})
    gone = None
    secrets = (TOKEN,)
    service: MastodonInstance

    def server(self) -> MastodonInstance:
        return MastodonInstance()

    def connected(self, timeout: float) -> Session:
        return session(timeout=timeout)

    def recipient(self) -> Recipient:
        return letters.recipient(self.url)

    def arrived(self) -> list[Arrival]:
        return [Arrival(status["id"], status["text"]) for status in self.service.statuses]

    def acceptable(self, arrival: Arrival) -> bool:
        return self.service.length(arrival.text) <= self.service.characters and LINK in arrival.text

    def is_harmless(self, text: str) -> bool:
        return re.search(r"(?<![\w/=])@\w", text) is None


class TestLimits:
    def test_the_instances_own_limit_counts(self) -> None:
        with MastodonInstance(characters=120) as small:
            assert isinstance(send(message(small.url, "Wörter und mehr " * 50)), Sent)
            [status] = small.statuses
            assert small.length(status["text"]) <= 120
            assert status["text"].endswith(f"…, by Ada {LINK}")

    def test_a_content_warning_takes_its_part(self, instance: MastodonInstance) -> None:
        what = message(instance.url, "Wörter " * 200, options={"spoiler": "w" * 100})
        assert isinstance(send(what), Sent)

    def test_limits_are_asked_once_a_day(self, instance: MastodonInstance) -> None:
        cache = instances()
        opened = session(cache)
        for key in ("a", "b", "c"):
            assert isinstance(opened.send(message(instance.url), key=key, begun_at=None, now=NOW), Sent)
        opened.close()
        assert len(instance.asked("/api/v2/instance")) == 1

    def test_a_refusal_reads_the_limits_anew(self, instance: MastodonInstance) -> None:
        cache, what = instances(), message(instance.url, "Wörter " * 200)
        cache.get(instance.url, Instance)
        instance.characters = 300
        assert isinstance(send(what, cache=cache), Permanent)
        assert isinstance(send(what, cache=cache), Sent)

    def test_an_instance_without_v2_is_asked_by_v1(self, instance: MastodonInstance) -> None:
        instance.paths["/api/v2/instance"] = Reply(404)
        instance.paths["/api/v1/instance"] = Reply(body={"version": "3.5", "max_toot_chars": 200})
        assert isinstance(send(message(instance.url, "Wörter " * 200)), Sent)
        assert 150 < instance.length(instance.statuses[0]["text"]) <= 200

    def test_a_server_that_tells_no_limits_gets_the_usual_ones(self, instance: MastodonInstance) -> None:
        instance.paths["/api/v2/instance"] = Reply(404)
        instance.paths["/api/v1/instance"] = Reply(404)
        assert isinstance(send(message(instance.url, "Wörter " * 200)), Sent)

    @pytest.mark.parametrize(
        "said", [{"configuration": "no"}, {"configuration": {"statuses": {"max_characters": -1}}}, []]
    )
    def test_nonsense_about_limits_does_no_harm(self, instance: MastodonInstance, said: Any) -> None:
        instance.paths["/api/v2/instance"] = Reply(body=said)
        assert isinstance(send(message(instance.url, "Wörter " * 200)), Sent)

    def test_a_page_instead_of_limits_is_no_time_to_post(self, instance: MastodonInstance) -> None:
        instance.paths["/api/v2/instance"] = Reply(body="<html>")
        assert isinstance(send(message(instance.url)), Temporary)
        assert instance.statuses == []


class TestRequest:
    def test_options_reach_the_instance(self, instance: MastodonInstance) -> None:
        options = {"visibility": "unlisted", "language": "de", "spoiler": "Bienen"}
        send(message(instance.url, options=options))
        [request] = instance.asked("/api/v1/statuses")
        assert request.form["visibility"] == "unlisted"
        assert request.form["language"] == "de"
        assert request.form["spoiler_text"] == "Bienen"
        assert request.headers["idempotency-key"] == "key-1"
        assert request.headers["authorization"] == f"Bearer {TOKEN}"

    def test_one_session_serves_several_accounts(self, instance: MastodonInstance) -> None:
        with MastodonInstance() as other:
            opened = session()
            for url in (instance.url, other.url):
                assert isinstance(opened.send(message(url), key="k", begun_at=None, now=NOW), Sent)
            opened.close()
            assert len(instance.statuses) == len(other.statuses) == 1
