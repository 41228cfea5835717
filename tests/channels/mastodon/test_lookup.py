"""The outcome of an interrupted attempt."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from channels.base import Ambiguous, Message, Outcome, Sent, Temporary
from channels.mastodon.message import Status
from tests.channels.mastodon.letters import (
    IMPATIENT,
    LINK,
    PATIENT,
    TOO_MANY,
    closed_port,
    message,
    send,
    session,
)
from tests.contracts.channel import NOW
from tests.servers.mastodon_instance import GOTOSOCIAL, PLEROMA, MastodonInstance, Reply


@pytest.fixture
def instance() -> Iterator[MastodonInstance]:
    with MastodonInstance() as server:
        yield server


def sent(status_id: str) -> Sent:
    return Sent(remote_id=status_id, url=f"https://fake.example/@bot/{status_id}")


LIKE_MASTODON = {"version": "4.2.0 (compatible; Other 1.0)", "source_url": "https://git.example/x/mastodon"}


class TestEarlierAttempts:
    def begun(self, what: Message[Status], *, minutes: int, timeout: float = PATIENT) -> Outcome:
        return send(what, begun_at=NOW - timedelta(minutes=minutes), timeout=timeout)

    def lost(self, instance: MastodonInstance) -> Message[Status]:
        """Post; the instance accepts the post, but its response is lost."""
        what = message(instance.url)
        instance.says = Reply(takes=True, hangs_up=True)
        assert isinstance(send(what), Ambiguous)
        instance.says = None
        return what

    def test_a_young_one_is_repeated_with_its_key(self, instance: MastodonInstance) -> None:
        what = self.lost(instance)
        assert self.begun(what, minutes=49) == sent("1000")
        assert len(instance.statuses) == 1
        keys = [request.headers["idempotency-key"] for request in instance.asked("/api/v1/statuses")]
        assert keys == ["key-1", "key-1"]

    @pytest.mark.parametrize("minutes", [50, 600, -1, -90])
    def test_an_old_one_is_found_among_the_last_statuses(
        self, instance: MastodonInstance, minutes: int
    ) -> None:
        what = self.lost(instance)
        assert self.begun(what, minutes=minutes) == sent("1000")
        assert len(instance.asked("/api/v1/statuses")) == 1

    @pytest.mark.parametrize("software", [GOTOSOCIAL, PLEROMA, LIKE_MASTODON, {}])
    def test_a_server_not_known_to_honour_keys_is_asked_at_once(self, software: dict[str, str]) -> None:
        with MastodonInstance(software) as other:
            other.honours_keys = False
            what = self.lost(other)
            assert self.begun(what, minutes=1) == sent("1000")
            assert len(other.statuses) == 1

    def test_one_that_never_arrived_is_posted(self, instance: MastodonInstance) -> None:
        assert self.begun(message(instance.url), minutes=90) == sent("1000")
        assert [status["text"] for status in instance.statuses] == [f"[bees] New Post: A post, by Ada {LINK}"]

    def test_the_same_link_from_before_the_attempt_does_not_count(self, instance: MastodonInstance) -> None:
        instance.now = NOW - timedelta(days=3)
        self.lost(instance)
        instance.now = NOW
        what = message(instance.url)
        opened = session()
        outcome = opened.send(what, key="key-2", begun_at=NOW - timedelta(hours=2), now=NOW)
        opened.close()
        assert outcome == sent("1001")

    def test_another_newsletters_post_of_the_same_link_is_not_ours(self, instance: MastodonInstance) -> None:
        self.lost(instance)
        opened, what = session(), message(instance.url, newsletter="wasps")
        outcome = opened.send(what, key="key-2", begun_at=NOW - timedelta(hours=1), now=NOW)
        opened.close()
        assert outcome == sent("1001")

    @pytest.mark.parametrize(
        "reply",
        [Reply(503), Reply(429), Reply(403, {"error": "scopes"}), Reply(body="x"), Reply(silent=True)],
    )
    def test_a_look_up_that_fails_posts_nothing_and_is_held(
        self, instance: MastodonInstance, reply: Reply
    ) -> None:
        instance.paths["/api/v1/accounts/109/statuses"] = reply
        timeout = IMPATIENT if reply.silent else PATIENT
        outcome = self.begun(message(instance.url), minutes=90, timeout=timeout)
        assert isinstance(outcome, Ambiguous)
        assert outcome.holds
        assert "check whether it arrived" in outcome.text
        assert instance.asked("/api/v1/statuses") == []

    @pytest.mark.parametrize(("minutes", "holds"), [(1, False), (50, True)])
    def test_an_instance_out_of_reach_is_asked_again_until_its_key_is_gone(
        self, minutes: int, holds: bool
    ) -> None:
        outcome = self.begun(message(closed_port()), minutes=minutes)
        assert isinstance(outcome, Ambiguous)
        assert outcome.holds is holds

    @pytest.mark.parametrize("reply", [TOO_MANY, Reply(503), Reply(502)])
    def test_a_repetition_that_has_to_wait_leaves_the_first_attempt_open(
        self, instance: MastodonInstance, reply: Reply
    ) -> None:
        what = self.lost(instance)
        instance.says = reply
        outcome = self.begun(what, minutes=10)
        assert isinstance(outcome, Ambiguous)
        assert not outcome.holds

    def test_after_a_look_up_that_found_nothing_the_post_may_wait(self, instance: MastodonInstance) -> None:
        instance.says = TOO_MANY
        assert isinstance(self.begun(message(instance.url), minutes=90), Temporary)

    def test_a_post_without_a_link_is_held_where_a_status_has_the_same_words(
        self, instance: MastodonInstance
    ) -> None:
        what = message(instance.url, "Bees", link="")
        assert isinstance(send(what), Sent)
        outcome = self.begun(what, minutes=90)
        assert isinstance(outcome, Ambiguous)
        assert outcome.holds
        assert "same text" in outcome.text
        assert len(instance.statuses) == 1

    def test_a_post_without_a_link_is_posted_where_no_status_has_all_its_words(
        self, instance: MastodonInstance
    ) -> None:
        beginning = "Bees that dance in the hive to tell the others where clover is"
        assert isinstance(send(message(instance.url, f"{beginning}, first", link="")), Sent)
        opened, what = session(), message(instance.url, f"{beginning}, second", link="")
        outcome = opened.send(what, key="key-2", begun_at=NOW - timedelta(minutes=90), now=NOW)
        opened.close()
        assert isinstance(outcome, Sent)
        assert len(instance.statuses) == 2

    def test_a_template_without_a_link_is_looked_up_by_its_words(self, instance: MastodonInstance) -> None:
        what = message(instance.url, options={"template": "{title}"})
        assert isinstance(send(what), Sent)
        outcome = self.begun(what, minutes=90)
        assert isinstance(outcome, Ambiguous)
        assert outcome.holds
