"""Statuses that are edited and deleted."""

from collections.abc import Iterator
from typing import Any

import pytest

from channels.base import NO_POST, Deletes, Edits, Message, Outcome, Permanent, Sent, Temporary
from channels.mastodon.message import Status
from tests.channels.mastodon.letters import (
    CHANNEL,
    LINK,
    TOO_MANY,
    closed_port,
    letter,
    message,
    recipient,
    send,
    session,
)
from tests.channels.mastodon.test_threads import digest, texts
from tests.contracts.channel import NOW
from tests.servers.mastodon_instance import MastodonInstance, Medium, Reply


@pytest.fixture
def instance() -> Iterator[MastodonInstance]:
    with MastodonInstance() as server:
        yield server


def sent(what: Message[Status]) -> Sent:
    outcome = send(what)
    assert isinstance(outcome, Sent)
    return outcome


def edit(what: Message[Status], old: Sent) -> Outcome:
    opened = session()
    try:
        return opened.edit(what, remote_id=old.remote_id, parts=old.parts, key="edit-1", now=NOW)
    finally:
        opened.close()


def delete(url: str, old: Sent, **given: Any) -> Outcome:
    opened = session()
    try:
        of = CHANNEL.composer(letter())(recipient(url, **given))
        return opened.delete(of, remote_id=old.remote_id, parts=old.parts, now=NOW)
    finally:
        opened.close()


def test_the_session_says_that_it_can() -> None:
    assert isinstance(session(), Edits)
    assert isinstance(session(), Deletes)


class TestEdits:
    def test_the_status_says_what_the_post_says_now(self, instance: MastodonInstance) -> None:
        old = sent(message(instance.url, "Bes"))
        assert edit(message(instance.url, "Bees"), old) == old
        assert texts(instance) == f"[bees] New Post: Bees, by Ada {LINK}"

    def test_doing_it_again_does_no_harm(self, instance: MastodonInstance) -> None:
        old = sent(message(instance.url, "Bes"))
        assert edit(message(instance.url, "Bees"), old) == edit(message(instance.url, "Bees"), old)
        assert len(instance.statuses) == 1

    def test_its_pictures_stay(self, instance: MastodonInstance) -> None:
        old = sent(message(instance.url, "Bes"))
        instance.media["2000"] = Medium("Bee", b"", "image/png", 0, status_id=old.remote_id)
        instance.statuses[0]["media_attachments"] = [{"id": "2000"}]
        assert edit(message(instance.url, "Bees"), old) == old
        assert [medium["id"] for medium in instance.statuses[0]["media_attachments"]] == ["2000"]

    def test_each_status_of_a_thread_is_changed(self, instance: MastodonInstance) -> None:
        old = sent(digest(instance))
        before = len(instance.statuses)
        new = digest(instance, spoiler="Bees")
        assert edit(new, old) == old
        assert len(instance.statuses) == before
        assert {status["spoiler_text"] for status in instance.statuses} == {"Bees"}

    def test_one_that_is_gone_is_permanent_and_disables_nothing(self, instance: MastodonInstance) -> None:
        outcome = edit(message(instance.url), Sent(remote_id="999"))
        assert outcome == NO_POST
        assert instance.statuses == []

    def test_a_text_that_is_refused_changes_nothing(self, instance: MastodonInstance) -> None:
        old = sent(message(instance.url))
        instance.paths[f"/api/v1/statuses/{old.remote_id}"] = Reply(422, {"error": "no"})
        assert isinstance(edit(message(instance.url, "Bees"), old), Permanent)

    def test_a_text_that_is_too_long_for_the_instance_is_shortened(self, instance: MastodonInstance) -> None:
        old = sent(message(instance.url))
        instance.characters = 430
        assert isinstance(edit(message(instance.url, "Bees " * 200), old), Sent)
        assert "Bees Bees" in str(instance.statuses[0])

    def test_a_post_that_lost_its_link_is_changed(self, instance: MastodonInstance) -> None:
        old = sent(message(instance.url))
        assert isinstance(edit(message(instance.url, "Bees", link=""), old), Sent)
        assert LINK not in str(instance.statuses[0])

    @pytest.mark.parametrize(
        "reply", [TOO_MANY, Reply(503), Reply(hangs_up=True), Reply(body="<html>"), Reply(body={})]
    )
    def test_what_may_pass_is_tried_again(self, instance: MastodonInstance, reply: Reply) -> None:
        old = sent(message(instance.url))
        instance.paths[f"/api/v1/statuses/{old.remote_id}"] = reply
        assert isinstance(edit(message(instance.url, "Bees"), old), Temporary)

    def test_an_instance_out_of_reach_is_tried_again(self) -> None:
        assert isinstance(edit(message(closed_port()), Sent(remote_id="1")), Temporary)


class TestDeletes:
    def test_a_thread_is_deleted_whole(self, instance: MastodonInstance) -> None:
        old = sent(digest(instance))
        assert isinstance(delete(instance.url, old), Sent)
        assert instance.statuses == []

    def test_one_that_is_gone_is_done(self, instance: MastodonInstance) -> None:
        assert isinstance(delete(instance.url, Sent(remote_id="999", parts=("1000",))), Sent)

    def test_one_that_was_cut_off_goes_on(self, instance: MastodonInstance) -> None:
        old = sent(digest(instance))
        instance.paths[f"/api/v1/statuses/{old.remote_id}"] = TOO_MANY
        outcome = delete(instance.url, old)
        assert isinstance(outcome, Temporary)
        assert outcome.retry_at
        assert len(instance.statuses) == 1
        instance.paths.clear()
        assert isinstance(delete(instance.url, old), Sent)
        assert instance.statuses == []

    def test_a_revoked_token_is_said_and_not_repeated(self, instance: MastodonInstance) -> None:
        outcome = delete(instance.url, Sent(remote_id="1"), token="revoked-one")
        assert isinstance(outcome, Temporary)
        assert outcome.forbidden
        assert "revoked-one" not in repr(outcome)
