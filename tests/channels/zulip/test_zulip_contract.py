"""The Zulip channel against a fake server: the contract, and Zulip's own features."""

from datetime import timedelta
from typing import ClassVar
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.base import NO_POST, Ambiguous, Permanent, Sent
from channels.letter import Letter
from channels.zulip.bridge import LONGEST_MESSAGE, ZulipBridge
from tests.contracts.bridge import LINK, BridgeContract, ServiceCase, entry, expect, letter, recipient_of
from tests.contracts.channel import NOW, Arrival
from tests.servers.api_server import Reply
from tests.servers.services.zulip import (
    BAD_KEY,
    BOT,
    KEY,
    MESSAGES,
    NO_STREAM,
    STREAM,
    Shown,
    ZulipServer,
    bad,
)

CHANNEL = ZulipBridge()
BEGUN = NOW - timedelta(minutes=5)
FIELDS = {"server_url": "https://chat.example", "account": BOT, "api_key": KEY, "stream": STREAM}
MARKS = (
    "@**all** @_**Ada|7** @*bees* #**general** #**general>x** `a` ```spoiler x``` $$x$$ :smile: /me **b** "
    "*i* ~~s~~ <time:2026> [a](https://e.example) e.example a@e.example &amp; ![b](c) &#42; [a][b] http://e.example"
)
SIGNS = st.lists(st.sampled_from([*MARKS.split(), *"*_`~[]()#@!$<>&;:./-+\\|=", "\n", " "])).map(" ".join)
HOSTILE = (
    st.text(max_size=3_000)
    | SIGNS
    | st.sampled_from([MARKS, "/me", "1. a", "- a", "# a", "___", "    a", "> a"])
)
TEMPLATES = ("", "{title}", "{title}\n{summary}{link}", "{{x}} {link}.", "({link}) {title}!{link}")


class Zulip(ServiceCase):
    channel, made_by = CHANNEL, ZulipServer
    given: ClassVar = {**FIELDS, "server_url": "{url}"}
    service: ZulipServer


class TestZulipContract(Zulip, BridgeContract):
    refused = bad("Message must not be empty")
    unauthorised = BAD_KEY
    gone = NO_STREAM
    secrets = (KEY,)

    def test_the_same_key_twice_is_one_message(self) -> None:
        pytest.skip("Zulip knows no key; an attempt whose end is unknown is looked up.")

    def arrived(self) -> list[Arrival]:
        return [Arrival(str(said["id"]), Shown(said["content"]).words) for said in self.service.messages]

    def acceptable(self, arrival: Arrival) -> bool:
        [said] = self.service.messages
        whole = "truncated" not in said["content"] and not said["subject"].endswith("...")
        return whole and Shown(said["content"]).links == [LINK]

    def is_harmless(self, text: str) -> bool:
        [said] = self.service.messages
        shown = Shown(said["content"])
        return not shown.bad and shown.links == [LINK]


class TestPosting(Zulip):
    def test_a_post_is_under_the_newsletters_title_or_another_topic(self) -> None:
        posted = self.post()
        assert posted == Sent("4000", url=f"{self.url}/#narrow/id/4000")
        self.post(topic="Hive")
        assert [said["subject"] for said in self.service.messages] == ["Bees", "Hive"]
        assert Shown(self.service.messages[0]["content"]).words == f"[bees] New Post: A post, by Ada {LINK}"

    def test_the_titles_of_a_digest_are_links(self) -> None:
        posts = tuple(entry(f"T<{n}>", link=f"https://blog.example/{n}?a_(b)") for n in range(2))
        self.post(letter("Two", entries=posts, is_digest=True, web_url="https://l.example/7/"))
        shown = Shown(self.service.messages[0]["content"])
        assert shown.words.endswith("\n• T<0>\n• T<1>")
        assert shown.links[1:] == ["https://blog.example/0?a_%28b%29", "https://blog.example/1?a_%28b%29"]
        assert not shown.bad

    def test_a_correction_replaces_the_words(self) -> None:
        self.post()
        for _ in range(2):
            expect(self.edit(letter(entries=(entry("Better"),)), "4000"), Sent, remote_id="4000")
        assert "Better" in self.service.messages[0]["content"]
        assert self.edit(letter(), "1") == NO_POST
        self.service.may = set()
        expect(self.edit(letter(), "4000"), Permanent, "abgelaufen", disables=False)

    def test_a_withdrawn_post_is_deleted(self) -> None:
        self.post()
        for _ in range(2):
            assert self.delete("4000") == Sent("4000")
        assert self.service.messages == []

    def test_where_a_bot_may_not_delete_it_is_emptied(self) -> None:
        self.post()
        self.service.may = {"PATCH"}
        assert self.delete("4000") == Sent("4000")
        assert self.service.messages[0]["content"] == "(deleted)"
        self.service.may = set()
        expect(self.delete("4000"), Permanent, "abgelaufen", disables=False)

    def test_a_server_that_is_elsewhere_is_no_message_that_is_gone(self) -> None:
        self.service.paths[f"{MESSAGES}/4000"] = Reply(404, "<html>")
        expect(self.delete("4000"), Permanent, "404")


class TestAfterADoubt(Zulip):
    def lost(self, of: Letter | None = None) -> None:
        self.service.says = Reply(takes=True, hangs_up=True)
        expect(self.post(of), Ambiguous)
        self.service.says = None

    def test_our_own_message_is_found(self) -> None:
        self.lost()
        expect(self.post(begun_at=BEGUN), Sent, remote_id="4000")
        assert len(self.service.messages) == 1

    def test_other_words_topics_senders_and_times_are_not_ours(self) -> None:
        self.lost(letter("Wasps"))
        content = CHANNEL.compose(letter(), self.recipient()).body["content"]
        add, message = self.service.messages.append, self.service.message
        add(message(content, "Wasps"))
        add(message(content, "Bees", sender="ada@chat.example"))
        add(message(content, "Bees", ago=40 * 365 * 86_400))
        expect(self.post(begun_at=BEGUN), Sent, remote_id="4004")

    @pytest.mark.parametrize("reply", [Reply(503), bad("Invalid narrow"), Reply(body={"messages": ["x"]})])
    def test_a_look_up_that_fails_posts_nothing_and_is_held(self, reply: Reply) -> None:
        self.service.paths[MESSAGES] = reply
        expect(self.post(begun_at=BEGUN), Ambiguous, holds=True)
        assert self.service.messages == []


class TestCheck(Zulip):
    def test_key_and_channel_are_checked(self) -> None:
        assert self.check().core == f"{STREAM}@{self.url.removeprefix('http://')}"
        self.refuse_check("stream: ", stream="none")
        assert "wrong-key" not in self.refuse_check("api_key: ", api_key="wrong-key")

    @pytest.mark.parametrize("reply", [Reply(404, "<html>"), Reply(body="<html>"), Reply(503)])
    def test_another_server_is_refused_by_its_address(self, reply: Reply) -> None:
        self.service.paths["/api/v1/users/me"] = reply
        self.refuse_check("server_url: ")


@example("/me a", "", "{title}")
@example("- a", "", "{title}")
@example("+ a", "", "{title}")
@given(HOSTILE, HOSTILE, st.sampled_from(TEMPLATES))
def test_any_post_is_words_and_its_link(title: str, summary: str, template: str) -> None:
    for link in (LINK, f"{LINK}#**general**/@**all**$$x$$[a](https://evil.example)'&copy;"):
        post = letter(entries=(entry(title, summary=summary, link=link),), options={"template": template})
        message = CHANNEL.compose(post, recipient_of(CHANNEL, FIELDS))
        if message.refusal:
            continue
        shown = Shown(message.body["content"])
        assert not shown.bad
        assert [unquote(said) for said in shown.links] == [link] * (template or "{link}").count("{link}")
        assert len(message.body["content"]) <= LONGEST_MESSAGE


@given(HOSTILE)
def test_a_text_is_shown_as_it_is(title: str) -> None:
    message = CHANNEL.compose(letter(entries=(entry(title),)), recipient_of(CHANNEL, FIELDS))
    assert "".join(Shown(message.body["content"]).words.split()) == "".join(message.body["shown"].split())
