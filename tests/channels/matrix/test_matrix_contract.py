"""The Matrix channel against a fake homeserver: the contract, and Matrix's own features."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Ambiguous, Channel, Message, Permanent, Sent, Session, Temporary
from channels.letter import Letter, Recipient
from channels.matrix.message import KEY, Notice
from channels.matrix.session import MatrixChannel, MatrixSession
from channels.matrix.spec import MatrixSpec
from common.ports.channels import InvalidDestination, ParsedDestination
from common.ttl_cache import TtlCache
from tests.contracts.bridge import LINK, LOOPBACK, PATIENT, BridgeContract, entry, letter
from tests.contracts.channel import NOW, Arrival
from tests.servers.api_server import Reply
from tests.servers.services.matrix import (
    ACCOUNT,
    ALIAS,
    API,
    FORBIDDEN,
    ROOM,
    ROOM_12,
    TOKEN,
    UNKNOWN_TOKEN,
    Homeserver,
    SeenHtml,
    error,
)

CHANNEL, KIND = MatrixChannel(), MatrixSpec()
BEGUN = NOW - timedelta(minutes=5)


def parsed(url: str, **given: str) -> ParsedDestination:
    return KIND.parse_destination({"server_url": url, "access_token": TOKEN, "room": ROOM, **given})


def at(url: str) -> Recipient:
    made = parsed(url)
    config = {**made.config, "via": "fake.example"}
    return Recipient(1, made.core, made.label, config=config, secrets=made.secrets)


def notice(url: str, of: Letter | None = None, **options: str) -> Message[Notice]:
    return CHANNEL.composer(replace(of or letter(), options=options))(at(url))


@pytest.fixture
def server() -> Iterator[Homeserver]:
    with Homeserver() as running:
        yield running


@pytest.fixture
def session() -> Iterator[MatrixSession]:
    opened = MatrixSession(session=LOOPBACK.session(), timeout=PATIENT)
    yield opened
    opened.close()


class TestMatrixContract(BridgeContract):
    channel: ClassVar[Channel] = CHANNEL
    refused = error(400, "M_BAD_JSON", "Content is not JSON.")
    unauthorised = UNKNOWN_TOKEN
    gone = FORBIDDEN
    secrets = (TOKEN,)
    service: Homeserver

    def server(self) -> Homeserver:
        return Homeserver()

    def connected(self, timeout: float) -> Session:
        return MatrixSession(session=LOOPBACK.session(), timeout=timeout)

    def recipient(self) -> Recipient:
        return at(self.url)

    def arrived(self) -> list[Arrival]:
        return [
            Arrival(event["event_id"], SeenHtml(event["content"]["formatted_body"]).words)
            for event in self.service.events
        ]

    def acceptable(self, arrival: Arrival) -> bool:
        [event] = self.service.events
        return LINK in SeenHtml(event["content"]["formatted_body"]).links

    def is_harmless(self, text: str) -> bool:
        [event] = self.service.events
        seen = SeenHtml(event["content"]["formatted_body"])
        return not seen.bad and seen.links == [LINK] and event["content"]["m.mentions"] == {}


class TestEncryption:
    """Any room can be encrypted at any time, and never decrypted again."""

    def test_a_room_that_was_encrypted_later_gets_no_readable_text(
        self, server: Homeserver, session: MatrixSession
    ) -> None:
        server.state["m.room.encryption"] = {"algorithm": "m.megolm.v1.aes-sha2"}
        outcome = session.send(notice(server.url), key="t-1", begun_at=None, now=NOW)
        edited = session.edit(notice(server.url), remote_id="$event0", parts=(), key="t-2", now=NOW)
        for refused in (outcome, edited):
            assert isinstance(refused, Permanent)
            assert refused.disables
            assert "encrypted" in refused.text
        assert server.events == []

    def test_it_is_asked_once_an_hour(self, server: Homeserver) -> None:
        seconds = [0.0]
        known = TtlCache[bool](room=9, seconds=3600, size=lambda _: 1, clock=lambda: seconds[0])
        opened = MatrixSession(session=LOOPBACK.session(), timeout=PATIENT, encrypted=known)
        for number in range(3):
            sent = opened.send(notice(server.url), key=f"t-{number}", begun_at=None, now=NOW)
            assert isinstance(sent, Sent)
        place = f"{API}/rooms/{quote(ROOM, safe='')}/state/m.room.encryption"
        assert len(server.asked(place)) == 1
        seconds[0] = 3601.0
        server.state["m.room.encryption"] = {"algorithm": "m.megolm.v1.aes-sha2"}
        assert isinstance(opened.send(notice(server.url), key="t-9", begun_at=None, now=NOW), Permanent)
        opened.close()

    def test_a_server_that_does_not_tell_gets_the_post(
        self, server: Homeserver, session: MatrixSession
    ) -> None:
        server.paths[f"{API}/rooms/{quote(ROOM, safe='')}/state/m.room.encryption"] = FORBIDDEN
        assert isinstance(session.send(notice(server.url), key="t-1", begun_at=None, now=NOW), Sent)


class TestPosting:
    def test_an_event_is_for_people_and_for_finding_again(
        self, server: Homeserver, session: MatrixSession
    ) -> None:
        outcome = session.send(notice(server.url), key="t-1", begun_at=None, now=NOW)
        assert outcome == Sent("$event0", url=f"https://matrix.to/#/{ROOM}/$event0?via=fake.example")
        shown = f"[bees] New Post: A post, by Ada {LINK}"
        href = LINK.replace("&", "&amp;")
        assert server.events[0]["content"] == {
            "msgtype": "m.notice", "body": shown, "m.mentions": {}, "format": "org.matrix.custom.html",
            "formatted_body": shown.replace(LINK, f'<a href="{href}">{href}</a>'), KEY: "t-1",
        }  # fmt: skip

    def test_the_titles_of_a_digest_are_links(self, server: Homeserver, session: MatrixSession) -> None:
        posts = tuple(entry(f"T<{n}>", link=f"https://blog.example/{n}") for n in range(2))
        of = letter("Two", entries=posts, is_digest=True, web_url="https://l.example/7/")
        session.send(notice(server.url, of), key="t-1", begun_at=None, now=NOW)
        content = server.events[0]["content"]
        assert content["formatted_body"].endswith(
            '<br>• <a href="https://blog.example/0">T&lt;0&gt;</a><br>• <a href="https://blog.example/1">T&lt;1&gt;</a>'
        )
        assert content["body"].endswith("\n• T<0> https://blog.example/0\n• T<1> https://blog.example/1")

    def test_a_server_with_a_lower_limit_gets_the_words_alone(
        self, server: Homeserver, session: MatrixSession
    ) -> None:
        server.largest = 2_000
        of = letter(entries=(entry("Wörter " * 100),))
        assert isinstance(session.send(notice(server.url, of), key="k", begun_at=None, now=NOW), Sent)
        assert "formatted_body" not in server.events[0]["content"]

    def test_the_wait_of_older_servers_stands_in_the_body(
        self, server: Homeserver, session: MatrixSession
    ) -> None:
        server.says = error(429, "M_LIMIT_EXCEEDED", "Too Many Requests", retry_after_ms=1_500)
        outcome = session.send(notice(server.url), key="k", begun_at=None, now=NOW)
        assert isinstance(outcome, Temporary)
        assert outcome.retry_at == NOW + timedelta(seconds=1.5)
        assert outcome.stops_lane

    def test_an_account_that_is_locked_may_come_back(
        self, server: Homeserver, session: MatrixSession
    ) -> None:
        server.says = error(401, "M_USER_LOCKED", "This account has been locked", soft_logout=True)
        assert isinstance(session.send(notice(server.url), key="k", begun_at=None, now=NOW), Temporary)

    def test_an_edit_names_the_event_it_replaces(self, server: Homeserver, session: MatrixSession) -> None:
        session.send(notice(server.url), key="t-1", begun_at=None, now=NOW)
        better = notice(server.url, letter(entries=(entry("Better"),)))
        for _ in range(2):
            edited = session.edit(better, remote_id="$event0", parts=(), key="t-1-2", now=NOW)
            assert isinstance(edited, Sent)
            assert edited.remote_id == "$event0"
        assert len(server.events) == 2
        content = server.events[1]["content"]
        assert content["m.relates_to"] == {"rel_type": "m.replace", "event_id": "$event0"}
        assert "Better" in content["m.new_content"]["formatted_body"]
        assert content["m.new_content"]["m.mentions"] == {}

    def test_a_post_is_taken_back(self, server: Homeserver, session: MatrixSession) -> None:
        assert session.delete(notice(server.url), remote_id="$e", parts=(), now=NOW) == Sent("$e")
        assert server.redacted == ["$e"]


class TestAfterADoubt:
    def lost(self, server: Homeserver, session: MatrixSession, key: str = "t-1") -> None:
        server.says = Reply(takes=True, hangs_up=True)
        outcome = session.send(notice(server.url), key=key, begun_at=None, now=NOW)
        assert isinstance(outcome, Ambiguous)
        server.says, server.remembers = None, False

    def test_our_own_event_is_found_when_the_transaction_is_forgotten(
        self, server: Homeserver, session: MatrixSession
    ) -> None:
        self.lost(server, session)
        outcome = session.send(notice(server.url), key="t-1", begun_at=BEGUN, now=NOW)
        assert isinstance(outcome, Sent)
        assert outcome.remote_id == "$event0"
        assert len(server.events) == 1

    def test_it_is_found_behind_many_others(self, server: Homeserver, session: MatrixSession) -> None:
        self.lost(server, session)
        server.events += [server.event(f"$o{n}", {KEY: "other"}) for n in range(250)]
        outcome = session.send(notice(server.url), key="t-1", begun_at=BEGUN, now=NOW)
        assert isinstance(outcome, Sent)
        assert outcome.remote_id == "$event0"

    def test_another_delivery_and_another_sender_are_not_ours(
        self, server: Homeserver, session: MatrixSession
    ) -> None:
        self.lost(server, session, key="t-0")
        server.events.append(server.event("$evil", {KEY: "t-1"}, sender="@evil:fake.example"))
        outcome = session.send(notice(server.url), key="t-1", begun_at=BEGUN, now=NOW)
        assert isinstance(outcome, Sent)
        assert outcome.remote_id == "$event2"

    def test_old_events_end_the_search(self, server: Homeserver, session: MatrixSession) -> None:
        for n in range(300):
            server.events.append({**server.event(f"$o{n}", {}), "origin_server_ts": 0})
        session.send(notice(server.url), key="t-1", begun_at=BEGUN, now=NOW)
        assert sum(request.place.endswith("/messages") for request in server.requests) == 1

    @pytest.mark.parametrize(
        "reply", [Reply(503), Reply(429), FORBIDDEN, Reply(body="x"), Reply(body={"chunk": ["x"]})]
    )
    def test_a_look_up_that_fails_posts_nothing_and_is_held(
        self, server: Homeserver, session: MatrixSession, reply: Reply
    ) -> None:
        server.paths[f"{API}/rooms/%21room%3Afake.example/messages"] = reply
        outcome = session.send(notice(server.url), key="t-1", begun_at=BEGUN, now=NOW)
        assert isinstance(outcome, Ambiguous)
        assert outcome.holds
        assert server.events == []


class TestCheck:
    def check(self, url: str, **given: str) -> ParsedDestination:
        return MatrixSession(session=LOOPBACK.session(), timeout=PATIENT).check(parsed(url, **given))

    def test_an_alias_becomes_the_rooms_id(self, server: Homeserver) -> None:
        made = self.check(server.url, room=ALIAS)
        assert made.config["room"] == ROOM
        assert made.config["via"] == "fake.example"
        assert made.core == f"{ROOM}@{server.url.removeprefix('http://')}"
        assert ALIAS in made.label

    def test_the_domain_may_name_another_server(self, server: Homeserver) -> None:
        with Homeserver() as elsewhere:
            said = {"m.homeserver": {"base_url": f"{server.url}/"}}
            elsewhere.paths["/.well-known/matrix/client"] = Reply(body=said)
            assert self.check(elsewhere.url).config["server_url"] == server.url

    @pytest.mark.parametrize(
        "said", [Reply(body="x"), Reply(body={"m.homeserver": {"base_url": 3}}), Reply(500)]
    )
    def test_a_domain_that_names_none_is_the_server(self, server: Homeserver, said: Reply) -> None:
        server.paths["/.well-known/matrix/client"] = said
        assert self.check(server.url).config["server_url"] == server.url

    def test_an_encrypted_room_is_refused(self, server: Homeserver) -> None:
        server.state["m.room.encryption"] = {"algorithm": "m.megolm.v1.aes-sha2"}
        with pytest.raises(InvalidDestination, match="room: this room is encrypted"):
            self.check(server.url)

    def test_a_room_where_the_account_may_not_post_is_refused(self, server: Homeserver) -> None:
        server.state["m.room.power_levels"] = {"events_default": 50, "users": {"@a:b": 100}}
        with pytest.raises(InvalidDestination, match="isn’t allowed to post"):
            self.check(server.url)

    @pytest.mark.parametrize(
        "levels", [{}, {"events_default": "x"}, {"events": {"m.room.message": 0}, "events_default": 50}]
    )
    def test_a_room_where_it_may_is_not(self, server: Homeserver, levels: dict[str, Any]) -> None:
        server.state["m.room.power_levels"] = levels
        self.check(server.url)

    @pytest.mark.parametrize(
        ("creator", "more", "may"),
        [(ACCOUNT, [], True), ("@a:b", [ACCOUNT], True), ("@a:b", ["@c:d"], False), ("@a:b", 3, False)],
    )
    def test_in_rooms_of_version_12_creators_may_post_whatever_the_levels(
        self, server: Homeserver, creator: str, more: Any, may: bool
    ) -> None:
        server.state["m.room.power_levels"] = {"events_default": 50}
        server.state["m.room.create"] = {"room_version": "12", "additional_creators": more}
        server.creator = creator
        if may:
            self.check(server.url, room=ROOM_12)
        else:
            with pytest.raises(InvalidDestination, match="isn’t allowed to post"):
                self.check(server.url, room=ROOM_12)

    def test_in_rooms_of_version_12_others_need_the_power(self, server: Homeserver) -> None:
        server.state["m.room.create"] = {"room_version": "12"}
        server.state["m.room.power_levels"] = {"events_default": 50, "users": {ACCOUNT: 50}}
        self.check(server.url, room=ROOM_12)

    def test_a_room_that_is_not_there_or_not_open_is_refused(self, server: Homeserver) -> None:
        with pytest.raises(InvalidDestination, match="room: "):
            self.check(server.url, room="#none:fake.example")
        server.joinable = False
        with pytest.raises(InvalidDestination, match=r"room: .*not invited"):
            self.check(server.url)

    def test_a_bad_token_is_refused_and_not_repeated(self, server: Homeserver) -> None:
        with pytest.raises(InvalidDestination, match="access_token: ") as caught:
            self.check(server.url, access_token="very-secret")
        assert "very-secret" not in str(caught.value)

    def test_another_server_is_refused_by_its_address(self, server: Homeserver) -> None:
        server.paths[f"{API}/account/whoami"] = Reply(404, "<html>")
        with pytest.raises(InvalidDestination, match="server_url: "):
            self.check(server.url)

    @pytest.mark.parametrize(
        "room", ["", "news", "@a:b", "#news", "! a:b", "!" + "x" * 300, "#" + "é" * 130 + ":b"]
    )
    def test_a_wrong_room_is_refused(self, room: str) -> None:
        with pytest.raises(InvalidDestination, match="room: "):
            parsed("https://fake.example", room=room)


HOSTILE = st.text(max_size=3_000) | st.sampled_from(["<&>\"'" * 3_000, "\x00\ud800" * 900, "🦄" * 3_000])


@given(HOSTILE, HOSTILE, st.sampled_from(["", "{title}\n{summary} {link}", "{{x}} {link} {authors}"]))
def test_any_notice_is_within_the_limits_with_its_link(title: str, summary: str, template: str) -> None:
    what = notice("https://fake.example", letter(entries=(entry(title, summary=summary),)), template=template)
    assert not what.refusal
    seen = SeenHtml(what.body.html)
    assert not seen.bad
    assert seen.links == [LINK]
    assert LINK in what.body.text
    assert len(json.dumps(what.body.new_content("$e" * 20), ensure_ascii=False).encode()) < 60_000
