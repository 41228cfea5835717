"""Connects a channel of Discord: who says yes there chooses it, and Discord makes the webhook."""

from collections.abc import Mapping

from delivery.channels.discord.service import agent
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


class DiscordConnect(OAuth):
    key = "discord-app"
    label = "Discord application"
    service = "Discord"
    # https://discord.com/developers/docs/topics/oauth2#webhooks
    authorise_address = "https://discord.com/oauth2/authorize"
    token_address = "https://discord.com/api/oauth2/token"  # noqa: S105 - an address
    scope = "webhook.incoming"
    account_fields = application_fields("Discord's developer portal, under OAuth2")
    steps = (
        "At discord.com/developers/applications: New Application. Its name stands above what is posted.",
        "Under OAuth2, Redirects: Add Redirect, paste the address below, and save.",
        "On the same page, copy the Client ID and the Client Secret (Reset Secret shows a new one).",
    )

    def finish(self, code: str, return_url: str, kept: Mapping[str, str], app: Mapping[str, str]) -> Grant:
        """The token that comes along is for nothing that we do, and is not kept."""

        def ask(client: ApiClient) -> Grant:
            form = token_form(code, return_url, app)
            return client.call("POST", self.token_address, read=_granted, data=form, headers=agent())

        return ask_service(ask, self.token_address, self.service, hidden=(code, app["client_secret"]))


def _granted(answer: ApiResponse) -> Grant:
    """Raises UnreadableAnswer."""
    return Grant({"webhook_url": a_secret(answer.at("webhook", "url"))})
