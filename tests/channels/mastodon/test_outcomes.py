"""The outcome of each response of an instance."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from channels.base import Ambiguous, Permanent, Sent, Temporary
from channels.mastodon.message import Instance, instances
from channels.mastodon.session import MastodonSession
from common.net.client import SafeClient
from common.transactions import NetworkInTransaction
from tests.channels.mastodon.letters import CHANNEL, closed_port, letter, message, recipient, send
from tests.contracts.channel import NOW
from tests.servers.mastodon_instance import MastodonInstance, Reply


@pytest.fixture
def instance() -> Iterator[MastodonInstance]:
    with MastodonInstance() as server:
        yield server


class TestOutcomes:
    def test_the_status_id_is_kept(self, instance: MastodonInstance) -> None:
        assert send(message(instance.url)) == Sent(remote_id="1000", url="https://fake.example/@bot/1000")

    @pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
    def test_no_redirect_is_ever_followed(self, instance: MastodonInstance, code: int) -> None:
        with MastodonInstance() as elsewhere:
            instance.says = Reply(code, headers={"Location": f"{elsewhere.url}/api/v1/statuses"})
            outcome = send(message(instance.url))
            assert elsewhere.requests == []
        assert isinstance(outcome, Temporary)
        assert "127.0.0.1" in outcome.text

    @pytest.mark.parametrize("reset", ["2026-03-04T05:11:07.000000Z", "1772601067"])
    def test_the_reset_of_a_rate_limit_is_an_iso_time_or_an_epoch(
        self, instance: MastodonInstance, reset: str
    ) -> None:
        instance.says = Reply(429, {"error": "Too many requests"}, {"X-RateLimit-Reset": reset})
        outcome = send(message(instance.url))
        assert isinstance(outcome, Temporary)
        assert outcome.retry_at == NOW + timedelta(minutes=5)
        assert outcome.stops_lane

    def test_a_wait_may_be_a_fraction_of_a_second(self, instance: MastodonInstance) -> None:
        instance.says = Reply(429, {"error": "Too many requests"}, {"Retry-After": "0.75"})
        outcome = send(message(instance.url))
        assert isinstance(outcome, Temporary)
        assert outcome.retry_at == NOW + timedelta(seconds=0.75)

    @pytest.mark.parametrize("reset", ["soon", "9" * 40, "2026-13-45T00:00:00Z", "", "-5"])
    def test_an_unreadable_reset_is_no_time(self, instance: MastodonInstance, reset: str) -> None:
        instance.says = Reply(429, {"error": "Too many"}, {"X-RateLimit-Reset": reset})
        outcome = send(message(instance.url))
        assert isinstance(outcome, Temporary)
        assert outcome.retry_at is None

    def test_a_wait_is_never_longer_than_a_day(self, instance: MastodonInstance) -> None:
        instance.says = Reply(429, {"error": "Too many"}, {"Retry-After": "99999999"})
        outcome = send(message(instance.url))
        assert isinstance(outcome, Temporary)
        assert outcome.retry_at == NOW + timedelta(days=1)

    def test_an_unreadable_rate_limit_header_does_not_undo_a_success(
        self, instance: MastodonInstance
    ) -> None:
        instance.says = Reply(200, {"id": "77"}, {"X-RateLimit-Reset": "soon", "X-RateLimit-Remaining": "x"})
        assert send(message(instance.url)) == Sent(remote_id="77")

    def test_posts_wait_for_a_token_in_place_of_a_revoked_one(self, instance: MastodonInstance) -> None:
        what = CHANNEL.compose(letter(), recipient(instance.url, token="revoked"))
        outcome = send(what)
        assert isinstance(outcome, Temporary)
        assert outcome.forbidden
        assert "The access token is invalid" in outcome.text

    def test_posts_wait_for_a_token_with_the_scope(self, instance: MastodonInstance) -> None:
        instance.says = Reply(403, {"error": "This action is outside the authorized scopes"})
        outcome = send(message(instance.url))
        assert isinstance(outcome, Temporary)
        assert outcome.forbidden

    def test_an_account_that_is_shut_out_may_come_back(self, instance: MastodonInstance) -> None:
        instance.says = Reply(403, {"error": "Your login is currently disabled"})
        outcome = send(message(instance.url))
        assert isinstance(outcome, Temporary)
        assert outcome.stops_lane
        assert "scope" not in outcome.text

    def test_a_firewalls_403_disables_nothing(self, instance: MastodonInstance) -> None:
        instance.says = Reply(403, "<html>Checking your browser</html>", {"Content-Type": "text/html"})
        assert isinstance(send(message(instance.url)), Temporary)

    def test_a_validation_error_comes_in_the_servers_words(self, instance: MastodonInstance) -> None:
        instance.says = Reply(422, {"error": "Validation failed: no"})
        assert send(message(instance.url)) == Permanent(
            f"{instance.url.removeprefix('http://')} answered 422: Validation failed: no."
        )

    def test_a_status_that_is_too_long_after_all_is_tried_once_more_with_room_to_spare(self) -> None:
        with MastodonInstance(characters=430) as stricter:
            cache = instances()
            cache.get(stricter.url, Instance)
            assert isinstance(send(message(stricter.url, "Wörter " * 200), cache=cache), Sent)
            assert len(stricter.asked("/api/v1/statuses")) == 2

    def test_no_instance_at_that_address_is_permanent(self, instance: MastodonInstance) -> None:
        instance.says = Reply(404, "<html>nothing here</html>")
        outcome = send(message(instance.url))
        assert isinstance(outcome, Permanent)
        assert not outcome.disables

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(takes=True, hangs_up=True),
            Reply(body="<html>thank you</html>", takes=True),
            Reply(body=[], takes=True),
            Reply(body={"id": "1" * 300}, takes=True),
            Reply(body={}, takes=True),
            Reply(body=b"\xff\xfe", takes=True),
            Reply(body="[" * 100_000, takes=True),
            Reply(body=b" " * 3_000_000, takes=True),
        ],
        ids=["hangs-up", "html", "a-list", "long-id", "no-id", "no-text", "deep", "too-long"],
    )
    def test_an_answer_that_proves_nothing_is_ambiguous(
        self, instance: MastodonInstance, reply: Reply
    ) -> None:
        instance.says = reply
        assert isinstance(send(message(instance.url)), Ambiguous)

    def test_a_connection_refused_at_the_post_is_temporary(self) -> None:
        cache, url = instances(), closed_port()
        cache.get(url, Instance)  # so that the post is the first request
        outcome = send(message(url), cache=cache)
        assert isinstance(outcome, Temporary)
        assert "refuses connections" in outcome.text

    def test_a_private_address_is_refused_in_clear_words(self, instance: MastodonInstance) -> None:
        cache = instances()
        cache.get(instance.url, Instance)  # so that the post is the first request
        for known in (cache, instances()):
            guarded = MastodonSession(session=SafeClient().session(), known=known)
            outcome = guarded.send(message(instance.url), key="k", begun_at=None, now=NOW)
            guarded.close()
            assert isinstance(outcome, Temporary)
            assert "private address" in outcome.text
        assert instance.requests == []

    @pytest.mark.django_db
    def test_a_post_inside_a_transaction_is_our_own_mistake(self, instance: MastodonInstance) -> None:
        with transaction.atomic(), pytest.raises(NetworkInTransaction):
            send(message(instance.url))
        assert instance.requests == []

    def test_the_token_is_in_no_text(self, instance: MastodonInstance) -> None:
        what = CHANNEL.compose(letter(), recipient(instance.url, token="very-secret"))
        assert "very-secret" not in repr(what)
        assert "very-secret" not in repr(send(what))
        assert "very-secret" not in repr(
            send(CHANNEL.compose(letter(), recipient(closed_port(), token="very-secret")))
        )

    def test_a_token_that_names_a_file_is_sent_as_it_is(
        self, instance: MastodonInstance, tmp_path: Any
    ) -> None:
        secret = tmp_path / "secret"
        secret.write_text("inner-secret")
        send(CHANNEL.compose(letter(), recipient(instance.url, token=str(secret))))
        assert {request.headers["authorization"] for request in instance.requests} == {f"Bearer {secret}"}
