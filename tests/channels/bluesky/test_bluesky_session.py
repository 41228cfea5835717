"""Posting to Bluesky: tokens, pictures, threads, and failures."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from channels.base import Ambiguous, Message, Permanent, Sent, StatefulSession, Temporary
from channels.bluesky.message import Thread
from common.pictures.picture import CleanPicture
from feeds.parsing.entry import Media
from tests.channels.bluesky.bluesky_letters import message, send, session
from tests.contracts.bridge import IMPATIENT, closed_port, entry, expect
from tests.contracts.channel import NOW
from tests.servers.api_server import Reply
from tests.servers.services.bluesky import DELETE, DID, PUT, REFRESH, SIGN_IN, UPLOAD, BlueskyServer

PNG = CleanPicture("bees.png", "image/png", 16, 9, b"\x89PNG\r\n\x1a\n" + b"0" * 50)
MEDIA = (Media("https://x.example/a.png", "image/png"),)
EXPIRED = Reply(400, {"error": "ExpiredToken", "message": "Token has expired"})


@pytest.fixture
def server() -> Iterator[BlueskyServer]:
    with BlueskyServer() as made:
        yield made


def picture(url: str) -> CleanPicture | None:
    return PNG if url == MEDIA[0].url else None


def with_picture(url: str) -> Message[Thread]:
    return message(url, entries=(entry(media=MEDIA),))


def thread(url: str) -> Message[Thread]:
    entries = tuple(entry(f"T{n}", link=f"https://blog.example/{n}") for n in range(3))
    fields: dict[str, Any] = {"entries": entries, "is_digest": True, "options": {"thread": "yes"}}
    return message(url, "T0, and 2 more", web_url="https://l.example/7/", **fields)


def thumbs(server: BlueskyServer) -> list[bool]:
    """Return for each post whether its card has a picture."""
    return ["thumb" in record["embed"]["external"] for record in server.writes]


class TestSent:
    def test_it_says_where_the_post_stands(self, server: BlueskyServer) -> None:
        outcome = send(message(server.url))
        [rkey] = server.records
        assert outcome == Sent(
            f"at://{DID}/app.bsky.feed.post/{rkey}", url=f"https://bsky.app/profile/{DID}/post/{rkey}"
        )

    def test_posts_go_to_the_accounts_own_server(self, server: BlueskyServer) -> None:
        with BlueskyServer() as entryway:
            entryway.pds_url = server.url
            server.left["access-jwt-1"] = 9
            assert isinstance(send(message(entryway.url, pds="https://moved.example")), Sent)
            assert len(server.records) == 1
            assert entryway.asked(PUT) == []

    def test_a_refused_card_goes_out_as_plain_words(self, server: BlueskyServer) -> None:
        class NoCards(BlueskyServer):
            def usual(self, request: Any) -> Reply:
                if request.place == PUT and "embed" in request.json["record"]:
                    return Reply(400, {"error": "InvalidRequest", "message": "no cards"})
                return super().usual(request)

        with NoCards() as picky:
            assert isinstance(send(message(picky.url)), Sent)
            [record] = picky.records.values()
            assert record["text"].endswith("blog.example/posts/bees?a=1&b=2")


class TestTokens:
    def test_one_sign_in_serves_many_posts_and_the_next_session(self, server: BlueskyServer) -> None:
        first = session()
        assert isinstance(first, StatefulSession)
        assert first.new_state() is None
        for key in "ab":
            assert isinstance(send(message(server.url), first, key=key), Sent)
        state = first.new_state()
        assert state
        assert first.new_state() is None
        second = session(state)
        assert isinstance(send(message(server.url), second, key="c"), Sent)
        assert second.new_state() is None
        assert len(server.asked(SIGN_IN)) == 1

    def test_tokens_that_ran_out_are_renewed_and_kept(self, server: BlueskyServer) -> None:
        opened = session()
        server.uses = 2
        for key in "abcd":
            assert isinstance(send(message(server.url), opened, key=key), Sent)
        assert len(server.asked(SIGN_IN)) == 1
        assert len(server.asked(REFRESH)) == 1
        state = opened.new_state()
        assert state
        assert state["refresh"] == "refresh-jwt-2"

    def test_where_they_cannot_be_renewed_it_signs_in(self, server: BlueskyServer) -> None:
        opened = session()
        send(message(server.url), opened)
        server.use_up()
        server.refreshable.clear()
        assert isinstance(send(message(server.url), opened), Sent)
        assert len(server.asked(SIGN_IN)) == 2

    def test_a_busy_service_is_not_signed_in_to_again(self, server: BlueskyServer) -> None:
        opened = session()
        send(message(server.url), opened)
        server.use_up()
        server.paths[REFRESH] = Reply(503)
        assert isinstance(send(message(server.url), opened), Temporary)
        assert len(server.asked(SIGN_IN)) == 1

    def test_a_token_that_is_never_good_is_tried_again_later(self, server: BlueskyServer) -> None:
        server.says = EXPIRED
        assert isinstance(send(message(server.url)), Temporary)
        assert len(server.asked(PUT)) == 2

    def test_posts_wait_for_a_password_in_place_of_a_revoked_one(self, server: BlueskyServer) -> None:
        opened = session()
        send(message(server.url), opened)
        server.revoke()
        expect(send(message(server.url), opened), Temporary, "app password", forbidden=True)

    @pytest.mark.parametrize("code", ["AuthenticationRequired", "AuthFactorTokenRequired"])
    def test_posts_wait_for_another_password(self, server: BlueskyServer, code: str) -> None:
        server.paths[SIGN_IN] = Reply(401, {"error": code, "message": "No"})
        expect(send(message(server.url)), Temporary, code, forbidden=True)

    @pytest.mark.parametrize(("status", "code"), [(401, "AccountTakedown"), (400, "AccountDeactivated")])
    def test_an_account_that_is_closed_is_disabled(
        self, server: BlueskyServer, status: int, code: str
    ) -> None:
        server.paths[SIGN_IN] = Reply(status, {"error": code, "message": "No"})
        expect(send(message(server.url)), Permanent, code, disables=True)

    def test_too_many_sign_ins_wait_as_the_service_says(self, server: BlueskyServer) -> None:
        reset = {"RateLimit-Reset": str(int(NOW.timestamp()) + 240)}
        server.paths[SIGN_IN] = Reply(429, {"error": "RateLimitExceeded"}, reset)
        outcome = expect(send(message(server.url)), Temporary, stops_lane=True)
        assert outcome.retry_at
        assert (outcome.retry_at - NOW).total_seconds() == 240

    @pytest.mark.parametrize(
        "said",
        [
            {},
            {"did": "x"},
            {"did": "did:plc:x", "accessJwt": "a", "refreshJwt": "b"},
            {"did": DID, "accessJwt": 1},
        ],
    )
    def test_an_answer_without_tokens_signs_nobody_in(self, server: BlueskyServer, said: Any) -> None:
        server.paths[SIGN_IN] = Reply(body=said)
        assert isinstance(send(message(server.url)), Temporary)

    def test_another_accounts_tokens_are_not_used(self, server: BlueskyServer) -> None:
        state = {
            "name": "did:plc:other",
            "did": "did:plc:other",
            "pds": closed_port(),
            "access": "a",
            "refresh": "b",
        }
        assert isinstance(send(message(server.url), session(state)), Sent)

    def test_no_token_is_in_what_is_said(self, server: BlueskyServer) -> None:
        opened = session()
        send(message(server.url), opened)
        server.says = Reply(500, {"message": "access-jwt-1 refresh-jwt-1"})
        assert "jwt" not in repr(send(message(server.url), opened))


class TestPictures:
    def test_a_cards_picture_is_uploaded(self, server: BlueskyServer) -> None:
        assert isinstance(send(with_picture(server.url), session(picture_of=picture)), Sent)
        assert thumbs(server) == [True]
        [upload] = server.asked(UPLOAD)
        assert upload.body == PNG.data
        assert upload.headers["content-type"] == "image/png"

    @pytest.mark.parametrize(
        "said",
        [
            Reply(500),
            Reply(400, {"error": "InvalidRequest"}),
            Reply(429),
            Reply(body="[]"),
            Reply(hangs_up=True),
        ],
    )
    def test_a_picture_that_fails_stops_no_post(self, server: BlueskyServer, said: Reply) -> None:
        server.paths[UPLOAD] = said
        assert isinstance(send(with_picture(server.url), session(picture_of=picture)), Sent)
        assert thumbs(server) == [False]

    def test_a_picture_that_is_too_large_is_left_out(self, server: BlueskyServer) -> None:
        large = replace(PNG, data=b"0" * 1_000_001)
        assert isinstance(send(with_picture(server.url), session(picture_of=lambda _: large)), Sent)
        assert server.asked(UPLOAD) == []

    def test_a_post_is_tried_again_with_the_picture_it_has(self, server: BlueskyServer) -> None:
        server.says = Reply(503)
        outcome = send(with_picture(server.url), session(picture_of=picture))
        assert isinstance(outcome, Temporary)
        assert outcome.progress
        server.says = None
        expect(send(with_picture(server.url), session(picture_of=picture), progress=outcome.progress), Sent)
        assert len(server.asked(UPLOAD)) == 1
        assert thumbs(server) == [True]

    def test_a_picture_that_was_forgotten_is_uploaded_again(self, server: BlueskyServer) -> None:
        server.says = Reply(503)
        outcome = send(with_picture(server.url), session(picture_of=picture))
        assert isinstance(outcome, Temporary)
        server.says = None
        server.forget_blobs()
        expect(
            send(with_picture(server.url), session(picture_of=picture), progress=outcome.progress or {}), Sent
        )
        assert len(server.asked(UPLOAD)) == 2
        assert thumbs(server) == [True]

    def test_a_picture_that_is_never_found_stops_no_post(self, server: BlueskyServer) -> None:
        class Forgetful(BlueskyServer):
            def usual(self, request: Any) -> Reply:
                self.forget_blobs()
                return super().usual(request)

        with Forgetful() as forgetful:
            assert isinstance(send(with_picture(forgetful.url), session(picture_of=picture)), Sent)
            assert thumbs(forgetful) == [False]


class TestThread:
    def test_its_posts_answer_each_other(self, server: BlueskyServer) -> None:
        outcome = send(thread(server.url))
        assert isinstance(outcome, Sent)
        root, *answers = server.records.values()
        assert len(outcome.parts) == len(answers) == 3
        assert [answer["reply"]["root"]["uri"] for answer in answers] == [outcome.remote_id] * 3
        parents = [answer["reply"]["parent"]["uri"] for answer in answers]
        assert parents == [outcome.remote_id, *outcome.parts[:-1]]
        assert "reply" not in root

    def test_what_stands_is_not_posted_again(self, server: BlueskyServer) -> None:
        class Short(BlueskyServer):
            def usual(self, request: Any) -> Reply:
                if request.place == PUT and len(self.writes) == 2:
                    return Reply(503)
                return super().usual(request)

        with Short() as short:
            outcome = send(thread(short.url))
            assert isinstance(outcome, Temporary)
            short.writes.append({})
            again = send(thread(short.url), progress=outcome.progress or {})
            assert isinstance(again, Sent)
            assert len(again.parts) == 3
            assert len(short.writes) == 1 + 4

    def test_after_a_crash_all_of_it_is_written_again_and_is_the_same(self, server: BlueskyServer) -> None:
        first = send(thread(server.url))
        before = dict(server.records)
        assert send(thread(server.url), begun_at=NOW) == first
        assert server.records == before

    def test_an_answer_that_is_refused_ends_it(self, server: BlueskyServer) -> None:
        class Curt(BlueskyServer):
            def usual(self, request: Any) -> Reply:
                if request.place == PUT and request.json["record"]["text"].startswith("T1"):
                    return Reply(400, {"error": "InvalidRequest", "message": "no"})
                return super().usual(request)

        with Curt() as curt:
            outcome = send(thread(curt.url))
            assert isinstance(outcome, Sent)
            assert len(outcome.parts) == 1


class TestUnsure:
    def test_a_lost_answer_and_a_repetition_make_one_post(self, server: BlueskyServer) -> None:
        server.says = Reply(takes=True, hangs_up=True)
        assert isinstance(send(message(server.url)), Ambiguous)
        before = dict(server.records)
        server.says = None
        assert isinstance(send(message(server.url), begun_at=NOW), Sent)
        assert server.records == before

    def test_a_sign_in_without_an_answer_posted_nothing(self, server: BlueskyServer) -> None:
        server.paths[SIGN_IN] = Reply(silent=True)
        assert isinstance(send(message(server.url), session(timeout=IMPATIENT)), Temporary)


class TestDelete:
    def test_a_post_and_its_thread_are_deleted_and_a_second_time_is_fine(self, server: BlueskyServer) -> None:
        sent = send(thread(server.url))
        assert isinstance(sent, Sent)
        opened = session()
        for _ in range(2):
            given: dict[str, Any] = {"remote_id": sent.remote_id, "parts": sent.parts, "now": NOW}
            assert isinstance(opened.delete(message(server.url), **given), Sent)
        opened.close()
        assert server.records == {}

    def test_what_the_service_says_against_it_is_told(self, server: BlueskyServer) -> None:
        server.paths[DELETE] = Reply(503)
        opened = session()
        outcome = opened.delete(message(server.url), remote_id="at://x/y/3mg7j5lhytcuo", parts=(), now=NOW)
        opened.close()
        assert isinstance(outcome, Temporary)
