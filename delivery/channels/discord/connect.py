"""Connects a channel of Discord: who says yes there chooses it, and Discord makes the webhook."""

from collections.abc import Mapping

from delivery.channels.discord.service import agent
from delivery.channels.http.client import ApiClient
from delivery.channels.http.transport import ApiResponse
from delivery.channels.oauth import (
    Authorisation,
    Grant,
    OAuth,
    a_secret,
    application_fields,
    ask_service,
    authorise_url,
    token_form,
)

# https://discord.com/developers/docs/topics/oauth2#webhooks
AUTHORISE_ADDRESS = "https://discord.com/oauth2/authorize"
TOKEN_ADDRESS = "https://discord.com/api/oauth2/token"  # noqa: S105 - an address
SCOPE = "webhook.incoming"


class DiscordConnect(OAuth):
    key = "discord-app"
    label = "Discord application"
    service = "Discord"
    account_fields = application_fields("Discord's developer portal, under OAuth2")
    steps = (
        "At discord.com/developers/applications: New Application. Its name stands above what is posted.",
        "Under OAuth2, Redirects: Add Redirect, paste the address below, and save.",
        "On the same page, copy the Client ID and the Client Secret (Reset Secret shows a new one).",
    )

    def begin(
        self, given: Mapping[str, str], return_url: str, state: str, app: Mapping[str, str]
    ) -> Authorisation:
        return Authorisation(authorise_url(AUTHORISE_ADDRESS, app, return_url, scope=SCOPE, state=state))

    def finish(self, code: str, return_url: str, kept: Mapping[str, str], app: Mapping[str, str]) -> Grant:
        """The token that comes along is for nothing that we do, and is not kept."""

        def read(answer: ApiResponse) -> str:
            return a_secret(answer.at("webhook", "url"))

        def ask(client: ApiClient) -> str:
            form = token_form(code, return_url, app)
            return client.call("POST", TOKEN_ADDRESS, read=read, data=form, headers=agent())

        return Grant(
            {
                "webhook_url": ask_service(
                    ask, TOKEN_ADDRESS, self.service, hidden=(code, app["client_secret"])
                )
            }
        )
