from collections.abc import Mapping

from channels.discord.service import agent
from channels.http.transport import ApiResponse
from channels.oauth import Grant, WebhookOAuth, a_secret, application_fields


class DiscordConnect(WebhookOAuth):
    key = "discord-app"
    label = "Discord application"
    service = "Discord"
    # https://discord.com/developers/docs/topics/oauth2#webhooks
    authorise_address = "https://discord.com/oauth2/authorize"
    token_address = "https://discord.com/api/oauth2/token"  # noqa: S105 - an address
    scope = "webhook.incoming"
    account_fields = application_fields("Discord's developer portal, under OAuth2")
    steps = (
        "At discord.com/developers/applications, choose New Application. Its name is shown above posts.",
        "Under OAuth2, Redirects, choose Add Redirect, paste the address below and save.",
        "On the same page, copy the Client ID and the Client Secret (Reset Secret shows a new one).",
    )

    def headers(self) -> Mapping[str, str]:
        return agent()

    def granted(self, answer: ApiResponse) -> Grant:
        return Grant({"webhook_url": a_secret(answer.at("webhook", "url"))})
