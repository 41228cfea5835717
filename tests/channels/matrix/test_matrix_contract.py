"""The Matrix channel against a fake homeserver: the contract, and Matrix's own features."""

import json
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Ambiguous, Permanent, Sent, Temporary
from channels.matrix.bridge import MatrixBridge
from channels.matrix.client import KEY
from common.ports.channels import InvalidDestination
from common.ttl_cache import TtlCache
from tests.contracts.bridge import LINK, BridgeContract, ServiceCase, entry, expect, letter, recipient_of
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

CHANNEL = MatrixBridge()
BEGUN = NOW - timedelta(minutes=5)
FIELDS = {"server_url": "https://fake.example", "access_token": TOKEN, "room": ROOM}
ENCRYPTION = f"{API}/rooms/{quote(ROOM, safe='')}/state/m.room.encryption"
HOSTILE = st.text(max_size=3_000) | st.sampled_from(["<&>\"'" * 3_000, "\x00\ud800" * 900, "🦄" * 3_000])


class Matrix(ServiceCase):
    channel, made_by = CHANNEL, Homeserver
    given: ClassVar = {**FIELDS, "server_url": "{url}"}
    checked: ClassVar = {"via": "fake.example"}
    service: Homeserver


class TestMatrixContract(Matrix, BridgeContract):
    refused = error(400, "M_BAD_JSON", "Content is not JSON.")
    unauthorised = UNKNOWN_TOKEN
    gone = FORBIDDEN
    secrets = (TOKEN,)

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


class TestEncryption(Matrix):
    """Any room can be encrypted at any time, and never decrypted again."""

    def test_a_room_that_was_encrypted_later_gets_no_readable_text(self) -> None:
        self.service.state["m.room.encryption"] = {"algorithm": "m.megolm.v1.aes-sha2"}
        outcome = self.post()
        edited = self.edit(letter(), "$event0")
        for refused in (outcome, edited):
            assert isinstance(refused, Permanent)
            assert refused.disables
            assert "encrypted" in refused.text
        assert self.service.events == []

    def test_it_is_asked_once_an_hour(self) -> None:
        seconds = [0.0]
        known = TtlCache[bool](room=9, seconds=3600, size=lambda _: 1, clock=lambda: seconds[0])
        opened = self.session()
        opened.encrypted = known
        for number in range(3):
            expect(opened.send(self.composed(), key=f"t-{number}", begun_at=None, now=NOW), Sent)
        assert len(self.service.asked(ENCRYPTION)) == 1
        seconds[0] = 3601.0
        self.service.state["m.room.encryption"] = {"algorithm": "m.megolm.v1.aes-sha2"}
        assert isinstance(opened.send(self.composed(), key="t-9", begun_at=None, now=NOW), Permanent)
        opened.close()

    def test_a_server_that_does_not_tell_gets_the_post(self) -> None:
        self.service.paths[ENCRYPTION] = FORBIDDEN
        assert isinstance(self.post(), Sent)


class TestPosting(Matrix):
    def test_an_event_is_for_people_and_for_finding_again(self) -> None:
        outcome = self.post()
        assert outcome == Sent("$event0", url=f"https://matrix.to/#/{ROOM}/$event0?via=fake.example")
        shown = f"[bees] New Post: A post, by Ada {LINK}"
        href = LINK.replace("&", "&amp;")
        assert self.service.events[0]["content"] == {
            "msgtype": "m.notice", "body": shown, "m.mentions": {}, "format": "org.matrix.custom.html",
            "formatted_body": shown.replace(LINK, f'<a href="{href}">{href}</a>'), KEY: "key-1",
        }  # fmt: skip

    def test_the_titles_of_a_digest_are_links(self) -> None:
        posts = tuple(entry(f"T<{n}>", link=f"https://blog.example/{n}") for n in range(2))
        of = letter("Two", entries=posts, is_digest=True, web_url="https://l.example/7/")
        self.post(of)
        content = self.service.events[0]["content"]
        assert content["formatted_body"].endswith(
            '<br>• <a href="https://blog.example/0">T&lt;0&gt;</a><br>• <a href="https://blog.example/1">T&lt;1&gt;</a>'
        )
        assert content["body"].endswith("\n• T<0> https://blog.example/0\n• T<1> https://blog.example/1")

    def test_a_server_with_a_lower_limit_gets_the_words_alone(self) -> None:
        self.service.largest = 2_000
        of = letter(entries=(entry("Wörter " * 100),))
        assert isinstance(self.post(of), Sent)
        assert "formatted_body" not in self.service.events[0]["content"]

    def test_the_wait_of_older_servers_stands_in_the_body(self) -> None:
        self.service.says = error(429, "M_LIMIT_EXCEEDED", "Too Many Requests", retry_after_ms=1_500)
        expect(self.post(), Temporary, retry_at=NOW + timedelta(seconds=1.5), stops_lane=True)

    def test_an_account_that_is_locked_may_come_back(self) -> None:
        self.service.says = error(401, "M_USER_LOCKED", "This account has been locked", soft_logout=True)
        assert isinstance(self.post(), Temporary)

    def test_an_edit_names_the_event_it_replaces(self) -> None:
        self.post()
        better = letter(entries=(entry("Better"),))
        for _ in range(2):
            expect(self.edit(better, "$event0"), Sent, remote_id="$event0")
        assert len(self.service.events) == 2
        content = self.service.events[1]["content"]
        assert content["m.relates_to"] == {"rel_type": "m.replace", "event_id": "$event0"}
        assert "Better" in content["m.new_content"]["formatted_body"]
        assert content["m.new_content"]["m.mentions"] == {}

    def test_a_post_is_taken_back(self) -> None:
        assert self.delete("$e") == Sent("$e")
        assert self.service.redacted == ["$e"]


class TestAfterADoubt(Matrix):
    def lost(self, key: str = "key-1") -> None:
        self.service.says = Reply(takes=True, hangs_up=True)
        expect(self.post(key=key), Ambiguous)
        self.service.says, self.service.remembers = None, False

    def test_our_own_event_is_found_when_the_transaction_is_forgotten(self) -> None:
        self.lost()
        expect(self.post(begun_at=BEGUN), Sent, remote_id="$event0")
        assert len(self.service.events) == 1

    def test_it_is_found_behind_many_others(self) -> None:
        self.lost()
        self.service.events += [self.service.event(f"$o{n}", {KEY: "other"}) for n in range(250)]
        expect(self.post(begun_at=BEGUN), Sent, remote_id="$event0")

    def test_another_delivery_and_another_sender_are_not_ours(self) -> None:
        self.lost(key="key-0")
        self.service.events.append(self.service.event("$evil", {KEY: "key-1"}, sender="@evil:fake.example"))
        expect(self.post(begun_at=BEGUN), Sent, remote_id="$event2")

    def test_old_events_end_the_search(self) -> None:
        for n in range(300):
            self.service.events.append({**self.service.event(f"$o{n}", {}), "origin_server_ts": 0})
        self.post(begun_at=BEGUN)
        assert sum(request.place.endswith("/messages") for request in self.service.requests) == 1

    @pytest.mark.parametrize(
        "reply", [Reply(503), Reply(429), FORBIDDEN, Reply(body="x"), Reply(body={"chunk": ["x"]})]
    )
    def test_a_look_up_that_fails_posts_nothing_and_is_held(self, reply: Reply) -> None:
        self.service.paths[f"{API}/rooms/%21room%3Afake.example/messages"] = reply
        expect(self.post(begun_at=BEGUN), Ambiguous, holds=True)
        assert self.service.events == []


class TestCheck(Matrix):
    def test_an_alias_becomes_the_rooms_id(self) -> None:
        made = self.check(room=ALIAS)
        assert made.config["room"] == ROOM
        assert made.config["via"] == "fake.example"
        assert made.core == f"{ROOM}@{self.service.url.removeprefix('http://')}"
        assert ALIAS in made.label

    def test_the_domain_may_name_another_server(self) -> None:
        with Homeserver() as elsewhere:
            said = {"m.homeserver": {"base_url": f"{self.service.url}/"}}
            elsewhere.paths["/.well-known/matrix/client"] = Reply(body=said)
            assert self.check(server_url=elsewhere.url).config["server_url"] == self.service.url

    @pytest.mark.parametrize(
        "said", [Reply(body="x"), Reply(body={"m.homeserver": {"base_url": 3}}), Reply(500)]
    )
    def test_a_domain_that_names_none_is_the_server(self, said: Reply) -> None:
        self.service.paths["/.well-known/matrix/client"] = said
        assert self.check().config["server_url"] == self.service.url

    def test_an_encrypted_room_is_refused(self) -> None:
        self.service.state["m.room.encryption"] = {"algorithm": "m.megolm.v1.aes-sha2"}
        self.refuse_check("room: this room is encrypted")

    def test_a_room_where_the_account_may_not_post_is_refused(self) -> None:
        self.service.state["m.room.power_levels"] = {"events_default": 50, "users": {"@a:b": 100}}
        self.refuse_check("isn’t allowed to post")

    @pytest.mark.parametrize(
        "levels", [{}, {"events_default": "x"}, {"events": {"m.room.message": 0}, "events_default": 50}]
    )
    def test_a_room_where_it_may_is_not(self, levels: dict[str, Any]) -> None:
        self.service.state["m.room.power_levels"] = levels
        self.check()

    @pytest.mark.parametrize(
        ("creator", "more", "may"),
        [(ACCOUNT, [], True), ("@a:b", [ACCOUNT], True), ("@a:b", ["@c:d"], False), ("@a:b", 3, False)],
    )
    def test_in_rooms_of_version_12_creators_may_post_whatever_the_levels(
        self, creator: str, more: Any, may: bool
    ) -> None:
        self.service.state["m.room.power_levels"] = {"events_default": 50}
        self.service.state["m.room.create"] = {"room_version": "12", "additional_creators": more}
        self.service.creator = creator
        if may:
            self.check(room=ROOM_12)
        else:
            self.refuse_check("isn’t allowed to post", room=ROOM_12)

    def test_in_rooms_of_version_12_others_need_the_power(self) -> None:
        self.service.state["m.room.create"] = {"room_version": "12"}
        self.service.state["m.room.power_levels"] = {"events_default": 50, "users": {ACCOUNT: 50}}
        self.check(room=ROOM_12)

    def test_a_room_that_is_not_there_or_not_open_is_refused(self) -> None:
        self.refuse_check("room: ", room="#none:fake.example")
        self.service.joinable = False
        self.refuse_check(r"room: .*not invited")

    def test_a_bad_token_is_refused_and_not_repeated(self) -> None:
        with pytest.raises(InvalidDestination, match="access_token: ") as caught:
            self.check(access_token="very-secret")
        assert "very-secret" not in str(caught.value)

    def test_another_server_is_refused_by_its_address(self) -> None:
        self.service.paths[f"{API}/account/whoami"] = Reply(404, "<html>")
        self.refuse_check("server_url: ")


@given(HOSTILE, HOSTILE, st.sampled_from(["", "{title}\n{summary} {link}", "{{x}} {link} {authors}"]))
def test_any_notice_is_within_the_limits_with_its_link(title: str, summary: str, template: str) -> None:
    what = CHANNEL.compose(
        letter(entries=(entry(title, summary=summary),), options={"template": template}),
        recipient_of(CHANNEL, FIELDS),
    )
    assert not what.refusal
    seen = SeenHtml(what.body.html)
    assert not seen.bad
    assert seen.links == [LINK]
    assert LINK in what.body.text
    assert len(json.dumps(what.body.new_content("$e" * 20), ensure_ascii=False).encode()) < 60_000
