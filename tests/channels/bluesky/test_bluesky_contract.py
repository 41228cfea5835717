"""The Bluesky channel fulfils the contract of all bridges.

The Bluesky channel's interface: destination, options and check.
Posting to Bluesky: tokens, pictures, threads, and failures.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from channels.base import Ambiguous, Permanent, Sent, StatefulSession, Temporary
from channels.bluesky.client import pds_of, scope_of
from common.pictures.picture import CleanPicture
from common.ports.channels import ParsedDestination
from feeds.parsing.entry import Media
from tests.channels.bluesky.bluesky_letters import CHANNEL, Skeeting, recipient
from tests.contracts.bridge import IMPATIENT, LINK, BridgeContract, closed_port, entry, expect, letter
from tests.contracts.channel import NOW, Arrival
from tests.servers.api_server import Reply, Request
from tests.servers.services.bluesky import (
    DELETE,
    DID,
    HANDLE,
    PASSWORD,
    PUT,
    REFRESH,
    SIGN_IN,
    UPLOAD,
    BlueskyServer,
    check_record,
)

PNG = CleanPicture("bees.png", "image/png", 16, 9, b"\x89PNG\r\n\x1a\n" + b"0" * 50)
MEDIA = (Media("https://x.example/a.png", "image/png"),)
EXPIRED = Reply(400, {"error": "ExpiredToken", "message": "Token has expired"})
PICTURED = letter(entries=(entry(media=MEDIA),))
POSTS = tuple(entry(f"T{n}", link=f"https://blog.example/{n}") for n in range(3))
THREAD = letter(
    "T0, and 2 more", entries=POSTS, is_digest=True, options={"thread": "yes"}, web_url="https://l.example/7/"
)


class TestBlueskyContract(Skeeting, BridgeContract):
    refused = Reply(400, {"error": "InvalidRequest", "message": "Invalid app.bsky.feed.post record"})
    unauthorised = Reply(401, {"error": "AuthenticationRequired", "message": "Invalid password"})
    gone = Reply(400, {"error": "AccountTakedown", "message": "Account has been taken down"})
    secrets = (PASSWORD,)

    def arrived(self) -> list[Arrival]:
        return [Arrival(rkey, record["text"]) for rkey, record in self.service.records.items()]

    def acceptable(self, arrival: Arrival) -> bool:
        record = self.service.records[arrival.identity]
        check_record(record, self.service.blobs)
        return bool(record["embed"]["external"]["uri"] == LINK)

    def is_harmless(self, text: str) -> bool:
        """The fake refuses mentions; nothing in a title is a link."""
        return not any(record.get("facets") for record in self.service.records.values())


def parsed(**data: str) -> ParsedDestination:
    return CHANNEL.parse_destination({"handle": HANDLE, "app_password": PASSWORD, **data})


class TestDestination:
    @pytest.mark.parametrize("typed", [HANDLE, f"@{HANDLE}", f" {HANDLE.upper()} ", f"\u202a@{HANDLE}\u202c"])
    def test_spellings_of_a_handle_are_one(self, typed: str) -> None:
        made = parsed(handle=typed)
        assert made.core == HANDLE
        assert made.label == f"@{HANDLE}"
        assert made.config == {"handle": HANDLE, "service_url": "https://bsky.social"}
        assert made.secrets == {"app_password": PASSWORD}

    @pytest.mark.parametrize("did", [DID, "did:web:pds.example", "did:web:localhost%3A2583"])
    def test_an_account_may_be_named_by_its_did(self, did: str) -> None:
        assert parsed(handle=did).core == did


class TestCheck(Skeeting):
    def test_an_account_is_known_by_its_did(self) -> None:
        made = self.check()
        assert (made.core, made.label) == (DID, f"@{HANDLE}")
        assert made.config == {
            "handle": HANDLE,
            "service_url": self.service.url,
            "did": DID,
            "pds": self.service.url,
        }
        assert made.secrets == {"app_password": PASSWORD}

    def test_the_accounts_own_password_is_warned_of(self) -> None:
        self.service.scope = "com.atproto.access"
        made = self.check()
        assert "main password" in made.config["warning"]
        assert "app password" in made.config["warning"]
        self.service.scope = "com.atproto.appPass"
        assert "warning" not in self.check().config

    @pytest.mark.parametrize("token", ["", "a", "a.b.c", "a.bnVsbA.c", f"a.{'W1tb' * 9_999}.c", "a.ü.c"])
    def test_a_token_that_cannot_be_read_has_no_scope(self, token: str) -> None:
        assert scope_of(token) == ""

    def test_a_changed_handle_is_the_same_account(self) -> None:
        assert self.check(handle=DID) == self.check()

    def test_its_server_is_asked_of_the_directory(self) -> None:
        self.service.names_pds = False
        self.service.pds_url = "https://pds.example"
        with BlueskyServer() as directory:
            self.plc = directory.url
            directory.paths[f"/{DID}"] = Reply(body=self.service.document())
            assert self.check().config["pds"] == "https://pds.example"

    def test_where_nobody_names_its_server_it_is_the_service(self) -> None:
        self.service.names_pds = False
        assert self.check().config["pds"] == self.service.url

    def test_a_wrong_password_is_said(self) -> None:
        match = r"app_password: .*Invalid identifier"
        assert "wrong-password" not in self.refuse_check(match, app_password="wrong-password")

    def test_an_account_that_is_not_active_is_refused(self) -> None:
        tokens = {"did": DID, "handle": HANDLE, "accessJwt": "a" * 9, "refreshJwt": "b" * 9}
        self.service.paths[SIGN_IN] = Reply(
            body={**tokens, "active": False, "didDoc": self.service.document()}
        )
        self.refuse_check(r"handle: .* isn’t active")

    @pytest.mark.parametrize("said", [Reply(404), Reply(503), Reply(body="<html>"), Reply(silent=True)])
    def test_a_service_that_signs_in_nobody_is_said(self, said: Reply) -> None:
        self.service.paths[SIGN_IN] = said
        self.timeout = IMPATIENT
        self.refuse_check("service_url: ")


@pytest.mark.parametrize(
    "document",
    [
        None, [], {}, {"service": {}}, {"service": [1, {"id": "#other"}]},
        {"service": [{"id": "#atproto_pds"}]},
        {"service": [{"id": "#atproto_pds", "serviceEndpoint": "http://evil.example"}]},
        {"service": [{"id": "#atproto_pds", "serviceEndpoint": ["https://a.example"]}]},
    ],
)  # fmt: skip
def test_nonsense_names_no_server(document: object) -> None:
    assert pds_of(document) == ""


def picture(url: str) -> CleanPicture | None:
    return PNG if url == MEDIA[0].url else None


class Scripted(Skeeting):
    def refuse(self, reply: Reply, when: Callable[[Request], bool]) -> None:
        """Answer some requests so, the others as usual."""
        usual = self.service.usual
        self.service.usual = lambda request: (  # type: ignore[method-assign]
            reply if when(request) else usual(request)
        )


class TestSent(Scripted):
    def test_it_says_where_the_post_stands(self) -> None:
        outcome = self.post()
        [rkey] = self.service.records
        assert outcome == Sent(
            f"at://{DID}/app.bsky.feed.post/{rkey}", url=f"https://bsky.app/profile/{DID}/post/{rkey}"
        )

    def test_posts_go_to_the_accounts_own_server(self) -> None:
        with BlueskyServer() as entryway:
            entryway.pds_url = self.service.url
            self.service.left["access-jwt-1"] = 9
            moved = self.composed(to=recipient(entryway.url, pds="https://moved.example"))
            expect(self.post(moved), Sent)
            assert len(self.service.records) == 1
            assert entryway.asked(PUT) == []

    def test_a_refused_card_goes_out_as_plain_words(self) -> None:
        refused = Reply(400, {"error": "InvalidRequest", "message": "no cards"})
        self.refuse(refused, lambda request: request.place == PUT and "embed" in request.json["record"])
        expect(self.post(), Sent)
        [record] = self.service.records.values()
        assert record["text"].endswith("blog.example/posts/bees?a=1&b=2")


class TestTokens(Skeeting):
    def test_one_sign_in_serves_many_posts_and_the_next_session(self) -> None:
        first = self.session()
        assert isinstance(first, StatefulSession)
        assert first.new_state() is None
        for key in "ab":
            assert isinstance(self.post(on=first, key=key), Sent)
        state = first.new_state()
        assert state
        assert first.new_state() is None
        second = self.session(state=state)
        assert isinstance(self.post(on=second, key="c"), Sent)
        assert second.new_state() is None
        assert len(self.service.asked(SIGN_IN)) == 1

    def test_tokens_that_ran_out_are_renewed_and_kept(self) -> None:
        opened = self.session()
        self.service.uses = 2
        for key in "abcd":
            assert isinstance(self.post(on=opened, key=key), Sent)
        assert len(self.service.asked(SIGN_IN)) == 1
        assert len(self.service.asked(REFRESH)) == 1
        state = opened.new_state()
        assert state
        assert state["refresh"] == "refresh-jwt-2"

    def test_where_they_cannot_be_renewed_it_signs_in(self) -> None:
        opened = self.session()
        self.post(on=opened)
        self.service.use_up()
        self.service.refreshable.clear()
        assert isinstance(self.post(on=opened), Sent)
        assert len(self.service.asked(SIGN_IN)) == 2

    def test_a_busy_service_is_not_signed_in_to_again(self) -> None:
        opened = self.session()
        self.post(on=opened)
        self.service.use_up()
        self.service.paths[REFRESH] = Reply(503)
        assert isinstance(self.post(on=opened), Temporary)
        assert len(self.service.asked(SIGN_IN)) == 1

    def test_a_token_that_is_never_good_is_tried_again_later(self) -> None:
        self.service.says = EXPIRED
        assert isinstance(self.post(), Temporary)
        assert len(self.service.asked(PUT)) == 2

    def test_posts_wait_for_a_password_in_place_of_a_revoked_one(self) -> None:
        opened = self.session()
        self.post(on=opened)
        self.service.revoke()
        expect(self.post(on=opened), Temporary, "app password", forbidden=True)

    @pytest.mark.parametrize("code", ["AuthenticationRequired", "AuthFactorTokenRequired"])
    def test_posts_wait_for_another_password(self, code: str) -> None:
        self.service.paths[SIGN_IN] = Reply(401, {"error": code, "message": "No"})
        expect(self.post(), Temporary, code, forbidden=True)

    @pytest.mark.parametrize(("status", "code"), [(401, "AccountTakedown"), (400, "AccountDeactivated")])
    def test_an_account_that_is_closed_is_disabled(self, status: int, code: str) -> None:
        self.service.paths[SIGN_IN] = Reply(status, {"error": code, "message": "No"})
        expect(self.post(), Permanent, code, disables=True)

    def test_too_many_sign_ins_wait_as_the_service_says(self) -> None:
        reset = {"RateLimit-Reset": str(int(NOW.timestamp()) + 240)}
        self.service.paths[SIGN_IN] = Reply(429, {"error": "RateLimitExceeded"}, reset)
        outcome = expect(self.post(), Temporary, stops_lane=True)
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
    def test_an_answer_without_tokens_signs_nobody_in(self, said: Any) -> None:
        self.service.paths[SIGN_IN] = Reply(body=said)
        assert isinstance(self.post(), Temporary)

    def test_another_accounts_tokens_are_not_used(self) -> None:
        state = {
            "name": "did:plc:other",
            "did": "did:plc:other",
            "pds": closed_port(),
            "access": "a",
            "refresh": "b",
        }
        assert isinstance(self.post(on=self.session(state=state)), Sent)

    def test_no_token_is_in_what_is_said(self) -> None:
        opened = self.session()
        self.post(on=opened)
        self.service.says = Reply(500, {"message": "access-jwt-1 refresh-jwt-1"})
        assert "jwt" not in repr(self.post(on=opened))


class TestPictures(Skeeting):
    picture_of = staticmethod(picture)

    @property
    def thumbs(self) -> list[bool]:
        """Return for each post whether its card has a picture."""
        return ["thumb" in record["embed"]["external"] for record in self.service.writes]

    def test_a_cards_picture_is_uploaded(self) -> None:
        assert isinstance(self.post(PICTURED), Sent)
        assert self.thumbs == [True]
        [upload] = self.service.asked(UPLOAD)
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
    def test_a_picture_that_fails_stops_no_post(self, said: Reply) -> None:
        self.service.paths[UPLOAD] = said
        assert isinstance(self.post(PICTURED), Sent)
        assert self.thumbs == [False]

    def test_a_picture_that_is_too_large_is_left_out(self) -> None:
        large = replace(PNG, data=b"0" * 1_000_001)
        self.picture_of = lambda url: large
        assert isinstance(self.post(PICTURED), Sent)
        assert self.service.asked(UPLOAD) == []

    def test_a_post_is_tried_again_with_the_picture_it_has(self) -> None:
        self.service.says = Reply(503)
        outcome = expect(self.post(PICTURED), Temporary)
        assert outcome.progress
        self.service.says = None
        expect(self.post(PICTURED, progress=outcome.progress), Sent)
        assert len(self.service.asked(UPLOAD)) == 1
        assert self.thumbs == [True]

    def test_a_picture_that_was_forgotten_is_uploaded_again(self) -> None:
        self.service.says = Reply(503)
        outcome = expect(self.post(PICTURED), Temporary)
        self.service.says = None
        self.service.forget_blobs()
        expect(self.post(PICTURED, progress=outcome.progress or {}), Sent)
        assert len(self.service.asked(UPLOAD)) == 2
        assert self.thumbs == [True]

    def test_a_picture_that_is_never_found_stops_no_post(self) -> None:
        class Forgetful(BlueskyServer):
            def usual(self, request: Request) -> Reply:
                self.forget_blobs()
                return super().usual(request)

        with Forgetful() as self.service:
            self.url = self.service.url
            expect(self.post(PICTURED), Sent)
        assert self.thumbs == [False]


class TestThread(Scripted):
    def test_its_posts_answer_each_other(self) -> None:
        outcome = expect(self.post(THREAD), Sent)
        root, *answers = self.service.records.values()
        assert len(outcome.parts) == len(answers) == 3
        assert [answer["reply"]["root"]["uri"] for answer in answers] == [outcome.remote_id] * 3
        parents = [answer["reply"]["parent"]["uri"] for answer in answers]
        assert parents == [outcome.remote_id, *outcome.parts[:-1]]
        assert "reply" not in root

    def test_what_stands_is_not_posted_again(self) -> None:
        usual = self.service.usual
        self.refuse(Reply(503), lambda request: request.place == PUT and len(self.service.writes) == 2)
        outcome = expect(self.post(THREAD), Temporary)
        self.service.usual = usual  # type: ignore[method-assign]
        again = expect(self.post(THREAD, progress=outcome.progress or {}), Sent)
        assert len(again.parts) == 3
        assert len(self.service.writes) == 4

    def test_after_a_crash_all_of_it_is_written_again_and_is_the_same(self) -> None:
        first = self.post(THREAD)
        before = dict(self.service.records)
        assert self.post(THREAD, begun_at=NOW) == first
        assert self.service.records == before

    def test_an_answer_that_is_refused_ends_it(self) -> None:
        refused = Reply(400, {"error": "InvalidRequest", "message": "no"})
        self.refuse(
            refused, lambda request: request.place == PUT and request.json["record"]["text"].startswith("T1")
        )
        outcome = expect(self.post(THREAD), Sent)
        assert len(outcome.parts) == 1


class TestUnsure(Skeeting):
    def test_a_lost_answer_and_a_repetition_make_one_post(self) -> None:
        self.service.says = Reply(takes=True, hangs_up=True)
        assert isinstance(self.post(), Ambiguous)
        before = dict(self.service.records)
        self.service.says = None
        assert isinstance(self.post(begun_at=NOW), Sent)
        assert self.service.records == before

    def test_a_sign_in_without_an_answer_posted_nothing(self) -> None:
        self.service.paths[SIGN_IN], self.timeout = Reply(silent=True), IMPATIENT
        assert isinstance(self.post(), Temporary)


class TestDelete(Skeeting):
    def test_a_post_and_its_thread_are_deleted_and_a_second_time_is_fine(self) -> None:
        sent = expect(self.post(THREAD), Sent)
        for _ in range(2):
            expect(self.delete(sent.remote_id, sent.parts), Sent)
        assert self.service.records == {}

    def test_what_the_service_says_against_it_is_told(self) -> None:
        self.service.paths[DELETE] = Reply(503)
        expect(self.delete("at://x/y/3mg7j5lhytcuo"), Temporary)
