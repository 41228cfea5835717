from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from channels.bridge import BridgeSpec
from channels.fields import posting_url, short_name
from common.ports.channels import Field, InvalidDestination, ParsedDestination

if TYPE_CHECKING:
    from channels.oauth import OAuth


class IncomingWebhookSpec(BridgeSpec):
    """`path` is in the webhook's URL."""

    asks_when_unsure = True
    core_is_chosen = True
    path: str

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is name@host."""
        parts = urlsplit(given["webhook_url"])
        if self.path not in parts.path:
            raise InvalidDestination(
                f"webhook_url: an incoming webhook of {self.label} contains {self.path}."
            )
        account = given["account"]
        return ParsedDestination(
            core=f"{account}@{parts.netloc}",
            label=f"{account} at {parts.netloc}",
            config={"account": account},
            secrets={"webhook_url": given["webhook_url"]},
        )

    def check(self, destination: ParsedDestination) -> ParsedDestination:
        """Only posting can test it."""
        return destination


def _fields(example: str, where: str) -> tuple[Field, ...]:
    return (
        Field("account", "Name", "A short name, such as news.", required=True, clean=short_name),
        Field(
            "webhook_url",
            "Webhook's address",
            f"{where} Keep it secret: anyone who knows it can post there.",
            required=True,
            secret=True,
            clean=posting_url(example),
        ),
    )


class SlackSpec(IncomingWebhookSpec):
    key = "slack"
    label = "Slack"
    sentence = "Posts to a channel through an incoming webhook."
    path = "/services/"
    destination_fields = _fields(
        "hooks.slack.com", "At api.slack.com/apps: your app, Incoming Webhooks, Add New Webhook to Workspace."
    )
    own_options = (
        Field("picture", "Picture", choices=lambda: [("", "The post's first one"), ("no", "None")]),
    )

    @property
    def connect(self) -> "OAuth":
        from channels.slack.session import SlackConnect

        return SlackConnect()

    def place(self, config: Mapping[str, str]) -> str:
        return config.get("channel_id", "")


class MattermostSpec(IncomingWebhookSpec):
    key = "mattermost"
    label = "Mattermost"
    sentence = "Posts to a channel through an incoming webhook."
    path = "/hooks/"
    destination_fields = _fields("chat.example", "In Mattermost: Integrations, Incoming Webhooks, Add.")


class RocketChatSpec(IncomingWebhookSpec):
    key = "rocketchat"
    label = "Rocket.Chat"
    sentence = "Posts to a channel through an incoming webhook."
    path = "/hooks/"
    destination_fields = _fields("chat.example", "In Rocket.Chat: Workspace, Integrations, New, Incoming.")
