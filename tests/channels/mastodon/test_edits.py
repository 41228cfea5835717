"""Statuses that are edited and deleted."""

import pytest

from channels.base import NO_POST, Deletes, Edits, Outcome, Permanent, Sent, Temporary
from channels.letter import Letter
from tests.channels.mastodon.letters import CHANNEL, TOO_MANY, Tooting, letter, recipient
from tests.channels.mastodon.test_threads import digest
from tests.contracts.bridge import LINK, closed_port, expect
from tests.servers.mastodon_instance import Medium, Reply


class Editing(Tooting):
    def sent(self, what: Letter | None = None) -> Sent:
        return expect(self.post(what), Sent)

    def change(self, what: Letter, old: Sent, **options: str) -> Outcome:
        outcome: Outcome = self.edit(what, old.remote_id, old.parts, **options)
        return outcome

    def take_down(self, old: Sent, **given: str) -> Outcome:
        outcome: Outcome = self.delete(old.remote_id, old.parts, to=recipient(self.url, **given))
        return outcome


def test_the_session_says_that_it_can() -> None:
    assert isinstance(CHANNEL, Edits)
    assert isinstance(CHANNEL, Deletes)


class TestEdits(Editing):
    def test_the_status_says_what_the_post_says_now(self) -> None:
        old = self.sent(letter("Bes"))
        assert self.change(letter("Bees"), old) == old
        assert self.texts == f"[bees] New Post: Bees, by Ada {LINK}"

    def test_doing_it_again_does_no_harm(self) -> None:
        old = self.sent(letter("Bes"))
        assert self.change(letter("Bees"), old) == self.change(letter("Bees"), old)
        assert len(self.service.statuses) == 1

    def test_its_pictures_stay(self) -> None:
        old = self.sent(letter("Bes"))
        self.service.media["2000"] = Medium("Bee", b"", "image/png", 0, status_id=old.remote_id)
        self.service.statuses[0]["media_attachments"] = [{"id": "2000"}]
        assert self.change(letter("Bees"), old) == old
        assert [medium["id"] for medium in self.service.statuses[0]["media_attachments"]] == ["2000"]

    def test_each_status_of_a_thread_is_changed(self) -> None:
        old = self.sent(digest())
        before = len(self.service.statuses)
        new = digest(spoiler="Bees")
        assert self.change(new, old) == old
        assert len(self.service.statuses) == before
        assert {status["spoiler_text"] for status in self.service.statuses} == {"Bees"}

    def test_one_that_is_gone_is_permanent_and_disables_nothing(self) -> None:
        outcome = self.change(letter(), Sent(remote_id="999"))
        assert outcome == NO_POST
        assert self.service.statuses == []

    def test_a_text_that_is_refused_changes_nothing(self) -> None:
        old = self.sent()
        self.service.paths[f"/api/v1/statuses/{old.remote_id}"] = Reply(422, {"error": "no"})
        assert isinstance(self.change(letter("Bees"), old), Permanent)

    def test_a_text_that_is_too_long_for_the_instance_is_shortened(self) -> None:
        old = self.sent()
        self.service.characters = 430
        assert isinstance(self.change(letter("Bees " * 200), old), Sent)
        assert "Bees Bees" in str(self.service.statuses[0])

    def test_a_post_that_lost_its_link_is_changed(self) -> None:
        old = self.sent()
        assert isinstance(self.change(letter("Bees", link=""), old), Sent)
        assert LINK not in str(self.service.statuses[0])

    @pytest.mark.parametrize(
        "reply", [TOO_MANY, Reply(503), Reply(hangs_up=True), Reply(body="<html>"), Reply(body={})]
    )
    def test_what_may_pass_is_tried_again(self, reply: Reply) -> None:
        old = self.sent()
        self.service.paths[f"/api/v1/statuses/{old.remote_id}"] = reply
        assert isinstance(self.change(letter("Bees"), old), Temporary)

    def test_an_instance_out_of_reach_is_tried_again(self) -> None:
        self.url = closed_port()
        expect(self.change(letter(), Sent(remote_id="1")), Temporary)


class TestDeletes(Editing):
    def test_a_thread_is_deleted_whole(self) -> None:
        old = self.sent(digest())
        assert isinstance(self.take_down(old), Sent)
        assert self.service.statuses == []

    def test_one_that_is_gone_is_done(self) -> None:
        assert isinstance(self.take_down(Sent(remote_id="999", parts=("1000",))), Sent)

    def test_one_that_was_cut_off_goes_on(self) -> None:
        old = self.sent(digest())
        self.service.paths[f"/api/v1/statuses/{old.remote_id}"] = TOO_MANY
        outcome = expect(self.take_down(old), Temporary)
        assert outcome.retry_at
        assert len(self.service.statuses) == 1
        self.service.paths.clear()
        assert isinstance(self.take_down(old), Sent)
        assert self.service.statuses == []

    def test_a_revoked_token_is_said_and_not_repeated(self) -> None:
        outcome = expect(self.take_down(Sent(remote_id="1"), token="revoked-one"), Temporary, forbidden=True)
        assert "revoked-one" not in repr(outcome)
