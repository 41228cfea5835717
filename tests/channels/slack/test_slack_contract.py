"""Slack, Mattermost and Rocket.Chat against fake servers: the contract, and their own features."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Ambiguous, Channel, CrashPolicy, Message, Permanent, Sent, Session, Temporary
from channels.http.links import WORD_JOINER
from channels.letter import Letter, Recipient
from channels.slack.message import RoomPost
from channels.slack.session import IncomingWebhookChannel, MattermostChannel, RocketChatChannel, SlackChannel
from channels.slack.spec import IncomingWebhookSpec, MattermostSpec, RocketChatSpec, SlackSpec
from common.ports.channels import InvalidDestination
from tests.contracts.bridge import LINK, LOOPBACK, PATIENT, BridgeContract, entry, letter
from tests.contracts.channel import NOW, Arrival
from tests.servers.api_server import Reply
from tests.servers.services.incoming_webhooks import (
    IncomingWebhooks,
    MattermostWebhooks,
    RocketChatWebhooks,
    SlackWebhooks,
    text_reply,
)

KINDS: dict[type[IncomingWebhooks], tuple[IncomingWebhookSpec, IncomingWebhookChannel]] = {
    SlackWebhooks: (SlackSpec(), SlackChannel()),
    MattermostWebhooks: (MattermostSpec(), MattermostChannel()),
    RocketChatWebhooks: (RocketChatSpec(), RocketChatChannel()),
}
PICTURE = "https://e.example/a.png"


def at(url: str, service: type[IncomingWebhooks]) -> Recipient:
    made = KINDS[service][0].parse_destination({"account": "news", "webhook_url": f"{url}{service.path}"})
    return Recipient(1, made.core, made.label, config=made.config, secrets=made.secrets)


def post(service: IncomingWebhooks, of: Letter | None = None, **options: str) -> Message[RoomPost]:
    compose = KINDS[type(service)][1].composer(replace(of or letter(), options=options))
    return compose(at(service.url, type(service)))


class IncomingWebhookContract(BridgeContract):
    """The common part of the three."""

    secrets = ("very-secret-token",)
    service: IncomingWebhooks
    made_by: ClassVar[type[IncomingWebhooks]]

    def server(self) -> IncomingWebhooks:
        return self.made_by()

    def connected(self, timeout: float) -> Session:
        channel = KINDS[self.made_by][1]
        return channel.session(session=LOOPBACK.session(), timeout=timeout)

    def recipient(self) -> Recipient:
        return at(self.url, self.made_by)

    def arrived(self) -> list[Arrival]:
        return [Arrival(str(number), text) for number, text in enumerate(self.service.texts)]

    def acceptable(self, arrival: Arrival) -> bool:
        return LINK in arrival.text

    def test_an_option_says_what_happens_when_nobody_knows(self) -> None:
        kind, channel = KINDS[self.made_by]
        assert channel.crash_policy is CrashPolicy.HOLD
        assert kind.parse_options({"when_unsure": "repeat"}) == {"when_unsure": "repeat"}


class TestSlackContract(IncomingWebhookContract):
    made_by = SlackWebhooks
    channel: ClassVar[Channel] = KINDS[SlackWebhooks][1]
    refused = text_reply(400, "invalid_payload")
    token_is_address = True
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


class TestMattermostContract(IncomingWebhookContract):
    made_by = MattermostWebhooks
    channel: ClassVar[Channel] = KINDS[MattermostWebhooks][1]
    refused = Reply(400, {"id": "web.incoming_webhook.parse.app_error", "message": "Unable to parse"})
    token_is_address = True
    unauthorised = Reply(400, {"id": "web.incoming_webhook.invalid.app_error", "message": "Invalid webhook"})
    gone = Reply(
        404, {"id": "web.incoming_webhook.channel.app_error", "message": "Couldn't find the channel"}
    )

    def is_harmless(self, text: str) -> bool:
        [body] = self.service.taken
        left = re.sub(r"\\.", "", body["text"].replace(LINK, ""))
        return not re.search(r"[\\`*_{}\[\]()#|~>]|@\w", left)


class TestRocketChatContract(IncomingWebhookContract):
    made_by = RocketChatWebhooks
    channel: ClassVar[Channel] = KINDS[RocketChatWebhooks][1]
    refused = Reply(400, {"success": False, "error": "error-invalid-message"})
    token_is_address = True
    unauthorised = gone = Reply(404, {"success": False, "error": "Invalid integration id or token provided."})

    def is_harmless(self, text: str) -> bool:
        [body] = self.service.taken
        left = re.sub(r"\\[*_~`#]", "", body["text"].replace(LINK, ""))
        return not re.search(rf"[*_~`#]|@\w|[\[\]<>|](?!{WORD_JOINER})", left)

    def test_a_failure_under_200_is_one(self) -> None:
        self.service.says = Reply(body={"success": False, "error": "error-not-allowed"})
        outcome = self.send()
        assert isinstance(outcome, Permanent)
        assert "error-not-allowed" in outcome.text


@pytest.fixture
def slack() -> Iterator[SlackWebhooks]:
    with SlackWebhooks() as running:
        yield running


def send(service: IncomingWebhooks, what: Message[RoomPost]) -> object:
    opened = KINDS[type(service)][1].session(session=LOOPBACK.session(), timeout=PATIENT)
    try:
        return opened.send(what, key="k", begun_at=None, now=NOW)
    finally:
        opened.close()


class TestSlack:
    def test_a_post_is_words_a_link_and_a_picture(self, slack: SlackWebhooks) -> None:
        of = letter(entries=(entry("1 < 2 & 3", image=PICTURE),))
        assert send(slack, post(slack, of)) == Sent()
        [body] = slack.taken
        words, link = body["blocks"][0]["elements"][0]["elements"][-2:]
        assert link == {"type": "link", "url": LINK}
        assert words["type"] == "text"
        assert body["blocks"][1] == {"type": "image", "image_url": PICTURE, "alt_text": "Picture"}
        assert body["text"] == (f"[bees] New Post: 1 &lt; 2 &amp; 3, by Ada <{LINK.replace('&', '&amp;')}>")
        assert body["unfurl_links"] is False

    def test_a_picture_that_slack_cannot_fetch_stops_no_post(self, slack: SlackWebhooks) -> None:
        slack.fetches = False
        of = letter(entries=(entry(image=PICTURE),))
        assert send(slack, post(slack, of)) == Sent()
        assert len(slack.requests) == 2
        assert len(slack.taken[0]["blocks"]) == 1

    def test_a_picture_may_be_left_out(self, slack: SlackWebhooks) -> None:
        of = letter(entries=(entry(image=PICTURE),))
        send(slack, post(slack, of, picture="no"))
        assert len(slack.taken[0]["blocks"]) == 1

    def test_blocks_that_are_refused_are_left_out(self, slack: SlackWebhooks) -> None:
        slack.says = text_reply(400, "invalid_blocks")
        outcome = send(slack, post(slack))
        assert isinstance(outcome, Permanent)
        assert ["blocks" in request.json for request in slack.requests] == [True, False]

    @pytest.mark.parametrize("body", ["", "thank you", "<html>ok</html>"])
    def test_anything_but_ok_leaves_it_open(self, slack: SlackWebhooks, body: str) -> None:
        slack.says = Reply(body=body)
        assert isinstance(send(slack, post(slack)), Ambiguous)

    def test_a_rollup_error_is_tried_again(self, slack: SlackWebhooks) -> None:
        slack.says = text_reply(500, "rollup_error")
        assert isinstance(send(slack, post(slack)), Temporary)


@pytest.mark.parametrize("service", KINDS)
class TestDigests:
    def digest(self, count: int) -> Letter:
        posts = tuple(entry(f"T{n} " + "x" * 200, link=f"https://blog.example/{n}") for n in range(count))
        return letter(
            f"T0, and {count - 1} more", entries=posts, is_digest=True, web_url="https://l.example/7/"
        )

    def test_titles_lead_to_their_posts(self, service: type[IncomingWebhooks]) -> None:
        with service() as running:
            assert send(running, post(running, self.digest(3))) == Sent()
            assert all(f"• T{n}" in re.sub(r"•\W+T", "• T", running.texts[0]) for n in range(3))
            assert "blog.example/2" in str(running.taken)

    def test_many_are_counted(self, service: type[IncomingWebhooks]) -> None:
        with service() as running:
            assert send(running, post(running, self.digest(50))) == Sent()
            assert "and 30 more" in running.texts[0] or "and 45 more" in running.texts[0]


class TestDestination:
    @pytest.mark.parametrize("service", KINDS)
    def test_the_address_is_a_secret(self, service: type[IncomingWebhooks]) -> None:
        made = at("https://Hooks.Example", service)
        assert made.core == "news@hooks.example"
        assert made.config == {"account": "news"}

    @pytest.mark.parametrize("service", KINDS)
    @pytest.mark.parametrize(
        "url", ["https://e.example/other/very-secret", "http://e.example/hooks/very-secret"]
    )
    def test_another_address_is_refused_and_not_repeated(
        self, service: type[IncomingWebhooks], url: str
    ) -> None:
        with pytest.raises(InvalidDestination, match="webhook_url: ") as caught:
            KINDS[service][0].parse_destination({"account": "news", "webhook_url": url})
        assert "very-secret" not in str(caught.value)


HOSTILE = st.text(max_size=3_000) | st.sampled_from(["<&>" * 3_000, "\\*_[](" * 900, "🦄" * 3_000])


@pytest.mark.slow
@given(HOSTILE, HOSTILE, st.sampled_from(["", "{title}\n{summary} {link}", "{{x}} {link} {authors}"]))
def test_any_post_is_within_the_limits(title: str, summary: str, template: str) -> None:
    of = letter(entries=(entry(title, summary=summary, image=PICTURE),), options={"template": template})
    for service, (_, channel) in KINDS.items():
        what = channel.composer(of)(at("https://e.example", service))
        assert not what.refusal
        for body in what.body.bodies:
            assert 0 < len(body["text"]) <= 5_000
            assert len(str(body.get("blocks", ""))) <= 13_200
            link = LINK.replace("&", "&amp;") if service is SlackWebhooks else LINK
            assert link in body["text"]
