"""Incoming webhooks, with the errors of each service."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from channels import fields
from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, Looks, Sent
from channels.bridge import Bridge
from channels.http.client import ApiClient, UnreadableAnswer, first_accepted
from channels.http.outcomes import ApiService, Verdict
from channels.http.transport import ApiResponse
from channels.oauth import Grant, WebhookOAuth, a_secret, application_fields
from channels.slack.message import (
    MOST_CHARACTERS,
    RoomPost,
    Writer,
    for_mattermost,
    for_rocketchat,
    for_slack,
    room_post_of,
)
from common.ports.channels import Field, InvalidDestination, ParsedDestination
from common.text import words

ADVICE = "Create another webhook there, and save its address."


class IncomingWebhook(Bridge):
    """`path` is in the webhook's URL. Posts can be neither found nor changed."""

    sentence = "Posts to a channel through an incoming webhook."
    # No idempotency key and no look-up.
    crash_policy = CrashPolicy.HOLD
    # Slack: "one message per second per channel".
    lane = LaneDefaults(spacing_seconds=2.0)
    address_field = "webhook_url"
    core_is_chosen = True
    path: str
    write: Writer

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        if self.path not in urlsplit(given["webhook_url"]).path:
            raise InvalidDestination(
                f"webhook_url: an incoming webhook of {self.label} contains {self.path}."
            )
        return super().destination(given)

    def body(self, post: Announcement, options: Mapping[str, str]) -> RoomPost:
        return room_post_of(post, options, type(self).write)

    def looks(self, body: RoomPost) -> Looks:
        """The limit includes markup."""
        pictures = (body.picture,) if body.picture else ()
        return Looks(body.shown, len(body.bodies[0]["text"]), MOST_CHARACTERS, pictures=pictures)

    def post(self, api: ApiClient, body: RoomPost) -> Sent:
        return first_accepted(
            body.bodies, lambda version: api.call("POST", api.url, read=_accepted, posting=True, json=version)
        )


def _accepted(answer: ApiResponse) -> Sent:
    """Slack and Mattermost answer ok, Rocket.Chat {"success": true}."""
    if answer.body.strip() != b"ok" and answer.at("success") is not True:
        raise UnreadableAnswer("neither ok nor success")
    return Sent()


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


def _slack_code(answer: ApiResponse) -> str:
    """Slack answers with one word, as text."""
    said = answer.body[:100].decode("utf-8", "replace").strip()
    return said if re.fullmatch("[a-z_]{2,60}", said) else ""


class SlackConnect(WebhookOAuth):
    key = "slack-app"
    label = "Slack app"
    service = "Slack"
    # https://docs.slack.dev/authentication/installing-with-oauth
    authorise_address = "https://slack.com/oauth/v2/authorize"
    token_address = "https://slack.com/api/oauth.v2.access"  # noqa: S105 - an address
    scope = "incoming-webhook"
    account_fields = application_fields("the app's Basic Information, App Credentials")
    steps = (
        "At api.slack.com/apps, choose Create New App, From scratch, and select your workspace.",
        "Under Incoming Webhooks, turn them on.",
        "Under OAuth & Permissions, Redirect URLs, add the address below and save.",
        "Under Basic Information, copy the Client ID and the Client Secret.",
    )
    # "Redirect URLs must use HTTPS"
    needs_https = True

    def granted(self, answer: ApiResponse) -> Grant:
        made = "incoming_webhook"
        url = a_secret(answer.at(made, "url"))
        channel, team = answer.text_at(made, "channel"), answer.text_at("team", "name")
        # Workspaces may have channels of one name.
        name = re.sub(r"[^\w.-]+", "-", f"{channel.lstrip('#')}-{team}".lower()).strip("-")[:64]
        label = f"{channel} in {team}" if channel and team else channel
        number = answer.text_at(made, "channel_id")[:64]
        return Grant({"webhook_url": url, "account": name or "slack"}, {"channel_id": number}, label[:200])


class SlackBridge(IncomingWebhook):
    key = "slack"
    label = "Slack"
    path = "/services/"
    oauth = "channels.slack.bridge.SlackConnect"
    destination_fields = _fields(
        "hooks.slack.com", "At api.slack.com/apps: your app, Incoming Webhooks, Add New Webhook to Workspace."
    )
    own_options = (fields.PICTURE,)
    # https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors
    service = ApiService(
        name="Slack",
        words=_slack_code,
        code=_slack_code,
        verdicts=dict.fromkeys(
            words(
                "action_prohibited channel_is_archived channel_not_found invalid_token no_active_hooks"
                " no_service no_service_id no_team posting_to_general_channel_denied team_disabled"
                " user_not_found"
            ),
            Verdict.DESTINATION,
        ),
        advice=ADVICE,
    )
    write = staticmethod(for_slack)

    def place(self, config: Mapping[str, str]) -> str:
        return config.get("channel_id", "")


class MattermostBridge(IncomingWebhook):
    key = "mattermost"
    label = "Mattermost"
    path = "/hooks/"
    destination_fields = _fields("chat.example", "In Mattermost: Integrations, Incoming Webhooks, Add.")
    # Error ids: https://github.com/mattermost/mattermost/blob/master/server/i18n/en.json
    service = ApiService(
        name="Mattermost",
        words=lambda answer: answer.text_at("message"),
        code=lambda answer: answer.text_at("id"),
        verdicts={
            f"web.incoming_webhook.{what}.app_error": Verdict.DESTINATION
            for what in ("invalid", "channel", "channel_locked", "permissions", "user", "disabled")
        },
        advice=ADVICE,
    )
    write = staticmethod(for_mattermost)


class RocketChatBridge(IncomingWebhook):
    key = "rocketchat"
    label = "Rocket.Chat"
    path = "/hooks/"
    destination_fields = _fields("chat.example", "In Rocket.Chat: Workspace, Integrations, New, Incoming.")
    service = ApiService(
        name="Rocket.Chat",
        words=lambda answer: answer.text_at("error"),
        code=lambda answer: answer.status,
        # "Invalid integration id or token provided."
        verdicts={404: Verdict.DESTINATION},
        advice=ADVICE,
        hides_failures_in=frozenset({200}),
    )
    write = staticmethod(for_rocketchat)
