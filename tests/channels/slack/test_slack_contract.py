"""Slack, Mattermost and Rocket.Chat against fake servers: the contract, and their own features."""

import re
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Ambiguous, Permanent, Sent, Temporary
from channels.http.links import WORD_JOINER
from channels.letter import Letter, Recipient
from channels.slack.bridge import MattermostBridge, RocketChatBridge, SlackBridge
from tests.contracts.bridge import LINK, BridgeContract, ServiceCase, entry, expect, letter
from tests.contracts.channel import Arrival
from tests.servers.api_server import Reply
from tests.servers.services.incoming_webhooks import (
    IncomingWebhooks,
    MattermostWebhooks,
    RocketChatWebhooks,
    SlackWebhooks,
    text_reply,
)

PICTURE = "https://e.example/a.png"
HOSTILE = st.text(max_size=3_000) | st.sampled_from(["<&>" * 3_000, "\\*_[](" * 900, "🦄" * 3_000])


def fields(url: str, service: type[IncomingWebhooks]) -> dict[str, str]:
    return {"account": "news", "webhook_url": f"{url}{service.path}"}


class Slack(ServiceCase):
    channel, made_by = SlackBridge(), SlackWebhooks
    given: ClassVar = fields("{url}", SlackWebhooks)
    service: SlackWebhooks


class Mattermost(ServiceCase):
    channel, made_by = MattermostBridge(), MattermostWebhooks
    given: ClassVar = fields("{url}", MattermostWebhooks)


class RocketChat(ServiceCase):
    channel, made_by = RocketChatBridge(), RocketChatWebhooks
    given: ClassVar = fields("{url}", RocketChatWebhooks)


CASES = (Slack, Mattermost, RocketChat)


class IncomingWebhookContract(BridgeContract):
    """The common part of the three."""

    secrets = ("very-secret-token",)
    token_is_address = True

    def arrived(self) -> list[Arrival]:
        return [Arrival(str(number), text) for number, text in enumerate(self.service.texts)]

    def acceptable(self, arrival: Arrival) -> bool:
        return LINK in arrival.text


class TestSlackContract(Slack, IncomingWebhookContract):
    refused = text_reply(400, "invalid_payload")
    unauthorised = text_reply(403, "invalid_token")
    gone = text_reply(410, "channel_is_archived")

    def is_harmless(self, text: str) -> bool:
        """The fake refuses markup in the text, and elements other than words and links."""
        [body] = self.service.taken
        assert body["mrkdwn"] is False
        links = [
            element["url"]
            for element in body["blocks"][0]["elements"][0]["elements"]
            if element["type"] == "link"
        ]
        return links == [LINK]


class TestMattermostContract(Mattermost, IncomingWebhookContract):
    refused = Reply(400, {"id": "web.incoming_webhook.parse.app_error", "message": "Unable to parse"})
    unauthorised = Reply(400, {"id": "web.incoming_webhook.invalid.app_error", "message": "Invalid webhook"})
    gone = Reply(
        404, {"id": "web.incoming_webhook.channel.app_error", "message": "Couldn't find the channel"}
    )

    def is_harmless(self, text: str) -> bool:
        [body] = self.service.taken
        left = re.sub(r"\\.", "", body["text"].replace(LINK, ""))
        return not re.search(r"[\\`*_{}\[\]()#|~>]|@\w", left)


class TestRocketChatContract(RocketChat, IncomingWebhookContract):
    refused = Reply(400, {"success": False, "error": "error-invalid-message"})
    unauthorised = gone = Reply(404, {"success": False, "error": "Invalid integration id or token provided."})

    def is_harmless(self, text: str) -> bool:
        [body] = self.service.taken
        left = re.sub(r"\\[*_~`#]", "", body["text"].replace(LINK, ""))
        return not re.search(rf"[*_~`#]|@\w|[\[\]<>|](?!{WORD_JOINER})", left)

    def test_a_failure_under_200_is_one(self) -> None:
        self.service.says = Reply(body={"success": False, "error": "error-not-allowed"})
        expect(self.send(), Permanent, "error-not-allowed")


class TestSlack(Slack):
    pictured = letter(entries=(entry("1 < 2 & 3", image=PICTURE),))

    def test_a_post_is_words_a_link_and_a_picture(self) -> None:
        assert self.post(self.pictured) == Sent()
        [body] = self.service.taken
        words, link = body["blocks"][0]["elements"][0]["elements"][-2:]
        assert link == {"type": "link", "url": LINK}
        assert words["type"] == "text"
        assert body["blocks"][1] == {"type": "image", "image_url": PICTURE, "alt_text": "Picture"}
        assert body["text"] == f"[bees] New Post: 1 &lt; 2 &amp; 3, by Ada <{LINK.replace('&', '&amp;')}>"
        assert body["unfurl_links"] is False

    def test_a_picture_that_slack_cannot_fetch_stops_no_post(self) -> None:
        self.service.fetches = False
        assert self.post(self.pictured) == Sent()
        assert len(self.service.requests) == 2
        assert len(self.service.taken[0]["blocks"]) == 1

    def test_a_picture_may_be_left_out(self) -> None:
        self.post(self.pictured, picture="no")
        assert len(self.service.taken[0]["blocks"]) == 1

    def test_blocks_that_are_refused_are_left_out(self) -> None:
        self.service.says = text_reply(400, "invalid_blocks")
        expect(self.post(), Permanent)
        assert ["blocks" in request.json for request in self.service.requests] == [True, False]

    @pytest.mark.parametrize(
        ("reply", "kind"),
        [
            # Anything but “ok” proves nothing.
            *((Reply(body=body), Ambiguous) for body in ("", "thank you", "<html>ok</html>")),
            (text_reply(500, "rollup_error"), Temporary),
        ],
    )
    def test_an_answer_has_its_outcome(self, reply: Reply, kind: type) -> None:
        self.service.says = reply
        expect(self.post(), kind)


def digest(count: int) -> Letter:
    posts = tuple(entry(f"T{n} " + "x" * 200, link=f"https://blog.example/{n}") for n in range(count))
    return letter(f"T0, and {count - 1} more", entries=posts, is_digest=True, web_url="https://l.example/7/")


class DigestCase(ServiceCase):
    def test_titles_lead_to_their_posts(self) -> None:
        assert self.post(digest(3)) == Sent()
        assert all(f"• T{n}" in re.sub(r"•\W+T", "• T", self.service.texts[0]) for n in range(3))
        assert "blog.example/2" in str(self.service.taken)

    def test_many_are_counted(self) -> None:
        assert self.post(digest(50)) == Sent()
        text = self.service.texts[0]
        assert "and 30 more" in text or "and 45 more" in text


class TestSlackDigests(DigestCase, Slack): ...


class TestMattermostDigests(DigestCase, Mattermost): ...


class TestRocketChatDigests(DigestCase, RocketChat): ...


@pytest.mark.parametrize("case", CASES)
class TestDestination:
    def test_the_address_is_a_secret(self, case: type[ServiceCase]) -> None:
        made = case.channel.parse_destination(
            {name: value.replace("{url}", "https://Hooks.Example") for name, value in case.given.items()}
        )
        assert made.core == "news@hooks.example"
        assert made.config == {"account": "news"}


@pytest.mark.slow
@given(HOSTILE, HOSTILE, st.sampled_from(["", "{title}\n{summary} {link}", "{{x}} {link} {authors}"]))
def test_any_post_is_within_the_limits(title: str, summary: str, template: str) -> None:
    of = letter(entries=(entry(title, summary=summary, image=PICTURE),), options={"template": template})
    for case in CASES:
        what = case.channel.compose(of, Recipient(1, "news@e.example", "news"))
        assert not what.refusal
        for body in what.body.bodies:
            assert 0 < len(body["text"]) <= 5_000
            assert len(str(body.get("blocks", ""))) <= 13_200
            assert (LINK.replace("&", "&amp;") if case is Slack else LINK) in body["text"]
