"""Digests as one status and as threads: each status once, after any interruption.

Statuses that are edited and deleted.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from channels.base import NO_POST, Ambiguous, Deletes, Edits, Outcome, Permanent, Sent, Temporary
from channels.letter import Letter
from channels.mastodon.message import LONGEST_THREAD
from tests.channels.mastodon.letters import CHANNEL, TOO_MANY, Tooting, letter, recipient
from tests.contracts.bridge import LINK, closed_port, entry, expect
from tests.contracts.channel import NOW
from tests.examples import some_now
from tests.servers.mastodon_instance import GOTOSOCIAL, MASTODON, MastodonInstance, Medium, Reply

ARCHIVE = "https://letters.example/s/bees/archive/7/"


def digest(count: int = 20, **options: str) -> Letter:
    posts = tuple(
        entry(f"Post {number} {'of bees ' * 6}", link=f"https://blog.example/{number}")
        for number in range(count)
    )
    options = {"thread": "on", **options}
    return letter("All posts", entries=posts, is_digest=True, web_url=ARCHIVE, options=options)


class Limited(MastodonInstance):
    """Instance that accepts so many statuses, then answers each with `then`."""

    def __init__(self, most: int, then: Reply, software: Mapping[str, Any] | None = None) -> None:
        super().__init__(software or MASTODON)
        self.most, self.then = most, then

    def usual(self, request: Any) -> Reply:
        if self.posts(request) and len(self.statuses) >= self.most:
            if self.then.takes:
                super().usual(request)
            return self.then
        return super().usual(request)


class TestDigest(Tooting):
    def test_one_status_names_as_many_titles_as_fit(self) -> None:
        assert isinstance(self.post(digest(thread="")), Sent)
        [status] = self.service.statuses
        first, *titles = status["text"].split("\n")
        assert first == f"[bees] All posts {ARCHIVE}"
        assert 5 < len(titles) < 20
        assert all(title.startswith(f"• Post {number} of bees") for number, title in enumerate(titles))
        assert "…" not in status["text"]

    def test_a_short_one_is_one_status_even_as_a_thread(self) -> None:
        expect(self.post(digest(2)), Sent, parts=())
        assert "https://blog.example/1" in self.texts

    def test_a_thread_has_every_post_with_its_link(self) -> None:
        outcome = expect(self.post(digest()), Sent)
        ids = [status["id"] for status in self.service.statuses]
        assert [outcome.remote_id, *outcome.parts] == ids
        assert len(ids) > 2
        assert outcome.url.endswith(ids[0])
        assert [status["in_reply_to_id"] for status in self.service.statuses] == [None, *ids[:-1]]
        links = [line.rpartition(" ")[2] for line in self.texts.split("\n")]
        assert links == [ARCHIVE, *(f"https://blog.example/{number}" for number in range(20))]

    def test_only_the_first_is_in_public_timelines(self) -> None:
        self.post(digest())
        first, *others = [status["visibility"] for status in self.service.statuses]
        assert first == "public"
        assert set(others) == {"unlisted"}

    def test_followers_only_stays_so(self) -> None:
        self.post(digest(visibility="private", spoiler="Bees"))
        assert {status["visibility"] for status in self.service.statuses} == {"private"}
        assert {status["spoiler_text"] for status in self.service.statuses} == {"Bees"}

    def test_a_thread_has_an_end(self) -> None:
        self.service.characters = 150
        assert isinstance(self.post(digest(50)), Sent)
        assert len(self.service.statuses) == LONGEST_THREAD

    def test_a_link_that_no_status_can_hold_is_left_out(self) -> None:
        long = entry("Long", link="https://x.intranet/" + "a" * 600)
        what = letter("All", entries=(long,), is_digest=True, web_url=ARCHIVE, options={"thread": "on"})
        assert isinstance(self.post(what), Sent)
        assert self.texts.endswith("• Long")


class TestCutOff(Tooting):
    @contextmanager
    def limited(self, *arguments: Any) -> Iterator[Limited]:
        with Limited(*arguments) as instance:
            self.service, self.url = instance, instance.url
            yield instance

    @pytest.mark.parametrize("most", [1, 2, 3])
    def test_one_that_has_to_wait_goes_on_where_it_ended(self, most: int) -> None:
        with self.limited(most, TOO_MANY) as instance:
            outcome = expect(self.post(digest()), Temporary)
            assert len(instance.statuses) == most
            instance.most = 99
            done = expect(self.post(digest(), progress=outcome.progress or {}), Sent)
            assert [done.remote_id, *done.parts] == [status["id"] for status in instance.statuses]
            assert done.url.endswith(done.remote_id)
            assert len(instance.asked("/api/v1/statuses")) == len(instance.statuses) + 1

    @pytest.mark.parametrize("most", some_now([0, 1, 2]))
    @pytest.mark.parametrize(("minutes", "software"), some_now([(1, None), (90, None), (1, GOTOSOCIAL)]))
    @pytest.mark.parametrize("takes", some_now([True, False]))
    def test_a_process_that_ends_between_parts_leaves_each_once(
        self, most: int, minutes: int, software: Mapping[str, Any] | None, takes: bool
    ) -> None:
        """`takes`: the last request arrived, its response did not."""
        with self.limited(most, Reply(hangs_up=True, takes=takes), software) as instance:
            instance.honours_keys = software is None and minutes < 50
            expect(self.post(digest()), Ambiguous)
            instance.most = 99
            done = expect(self.post(digest(), begun_at=NOW - timedelta(minutes=minutes)), Sent)
            assert [done.remote_id, *done.parts] == [status["id"] for status in instance.statuses]
            lines = self.texts.split("\n")
            assert len(lines) == len(set(lines)) == 21

    def test_a_part_that_is_refused_ends_the_thread(self) -> None:
        with self.limited(2, Reply(422, {"error": "Validation failed: no"})):
            outcome = expect(self.post(digest()), Sent)
            assert len(outcome.parts) == 1

    def test_a_first_that_is_refused_is_refused(self) -> None:
        with self.limited(0, Reply(422, {"error": "Validation failed: no"})) as instance:
            assert isinstance(self.post(digest()), Permanent)
            assert instance.statuses == []


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
