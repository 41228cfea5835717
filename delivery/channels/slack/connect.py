"""Connects a channel of Slack: who says yes there chooses it, and Slack makes the webhook."""

import re
from collections.abc import Mapping

from delivery.channels.http.client import ApiClient
from delivery.channels.http.transport import ApiResponse
from delivery.channels.oauth import (
    Grant,
    OAuth,
    a_secret,
    application_fields,
    ask_service,
    token_form,
)


class SlackConnect(OAuth):
    key = "slack-app"
    label = "Slack app"
    service = "Slack"
    # https://docs.slack.dev/authentication/installing-with-oauth
    authorise_address = "https://slack.com/oauth/v2/authorize"
    token_address = "https://slack.com/api/oauth.v2.access"  # noqa: S105 - an address
    scope = "incoming-webhook"
    account_fields = application_fields("the app's Basic Information, App Credentials")
    steps = (
        "At api.slack.com/apps: Create New App, From scratch, and choose your workspace.",
        "Under Incoming Webhooks, switch them on.",
        "Under OAuth & Permissions, Redirect URLs: add the address below, and save.",
        "Under Basic Information, copy the Client ID and the Client Secret.",
    )
    # "Redirect URLs must use HTTPS"
    needs_https = True

    def finish(self, code: str, return_url: str, kept: Mapping[str, str], app: Mapping[str, str]) -> Grant:
        """The token that comes along is for nothing that we do, and is not kept."""

        def ask(client: ApiClient) -> Grant:
            form = token_form(code, return_url, app)
            return client.call("POST", self.token_address, read=_granted, data=form)

        return ask_service(ask, self.token_address, self.service, hidden=(code, app["client_secret"]))


def _granted(answer: ApiResponse) -> Grant:
    """Raises UnreadableAnswer."""
    made = {name: answer.at("incoming_webhook", name) for name in ("channel", "channel_id", "url")}
    url, team = a_secret(made["url"]), answer.at("team", "name")
    channel, team = (one if isinstance(one, str) else "" for one in (made["channel"], team))
    number = made["channel_id"] if isinstance(made["channel_id"], str) else ""
    # Two workspaces may have channels of one name.
    name = re.sub(r"[^\w.-]+", "-", f"{channel.lstrip('#')}-{team}".lower()).strip("-")[:64]
    label = f"{channel} in {team}" if channel and team else channel
    return Grant({"webhook_url": url, "account": name or "slack"}, {"channel_id": number[:64]}, label[:200])
