from collections.abc import Mapping
from urllib.parse import urlsplit

from channels import fields
from channels.bridge import BridgeSpec
from common.ports.channels import Field, InvalidDestination, ParsedDestination


class IncomingWebhookSpec(BridgeSpec):
    """`path` is in the webhook's URL."""

    sentence = "Posts to a channel through an incoming webhook."
    address_field = "webhook_url"
    asks_when_unsure = True
    core_is_chosen = True
    path: str

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        if self.path not in urlsplit(given["webhook_url"]).path:
            raise InvalidDestination(
                f"webhook_url: an incoming webhook of {self.label} contains {self.path}."
            )
        return super().destination(given)


def _fields(example: str, where: str) -> tuple[Field, ...]:
    return (
        fields.name("news"),
        fields.secret(
            "webhook_url",
            "Webhook's address",
            f"{where} Keep it secret: anyone who knows it can post there.",
            fields.posting_url(example),
        ),
    )


class SlackSpec(IncomingWebhookSpec):
    key = "slack"
    label = "Slack"
    path = "/services/"
    oauth = "channels.slack.session.SlackConnect"
    destination_fields = _fields(
        "hooks.slack.com", "At api.slack.com/apps: your app, Incoming Webhooks, Add New Webhook to Workspace."
    )
    own_options = (fields.PICTURE,)

    def place(self, config: Mapping[str, str]) -> str:
        return config.get("channel_id", "")


class MattermostSpec(IncomingWebhookSpec):
    key = "mattermost"
    label = "Mattermost"
    path = "/hooks/"
    destination_fields = _fields("chat.example", "In Mattermost: Integrations, Incoming Webhooks, Add.")


class RocketChatSpec(IncomingWebhookSpec):
    key = "rocketchat"
    label = "Rocket.Chat"
    path = "/hooks/"
    destination_fields = _fields("chat.example", "In Rocket.Chat: Workspace, Integrations, New, Incoming.")
