from collections.abc import Mapping
from urllib.parse import urlsplit

from channels import fields
from channels.bridge import BridgeSpec
from common.ports.channels import Field, ParsedDestination

PRIORITIES = {"": "Usual: with a sound", "2": "Low: no sound", "8": "High: with a sound, on top"}


class GotifySpec(BridgeSpec):
    """Pushes to all clients of the application's owner."""

    key = "gotify"
    label = "Gotify"
    sentence = "Push notifications to your phones and browsers through your Gotify server."
    asks_when_unsure = True
    core_is_chosen = True
    destination_fields = (
        Field(
            "account",
            "Name",
            "A short name, such as news.",
            required=True,
            clean=fields.short_name,
        ),
        fields.server("server_url", "Server", example="gotify.example"),
        fields.secret(
            "access_token", "Access token", "In Gotify, choose Apps, Create application, and show its token."
        ),
    )
    own_options = (
        Field("priority", "Priority", choices=lambda: list(PRIORITIES.items())),
        Field("picture", "Picture", choices=lambda: [("", "The post's first one"), ("no", "None")]),
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is name@host: tokens have no name."""
        host = urlsplit(given["server_url"]).netloc
        return ParsedDestination(
            core=f"{given['account']}@{host}",
            label=f"{given['account']} at {host}",
            config={name: given[name] for name in ("account", "server_url")},
            secrets={"access_token": given["access_token"]},
        )

    def check(self, destination: ParsedDestination) -> ParsedDestination:
        """Ask whether a Gotify server answers (network). Raises InvalidDestination.

        Only a post can test a token.
        """
        from channels.gotify.session import check_server

        check_server(destination)
        return destination
