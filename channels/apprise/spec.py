from collections.abc import Mapping

from channels import fields
from channels.apprise.service import service_address
from channels.bridge import BridgeSpec
from common.ports.channels import ParsedDestination


def apprise_url(typed: str) -> str:
    service_address(typed)
    return typed


class AppriseSpec(BridgeSpec):
    """Services that have no folder in channels/."""

    key = "apprise"
    label = "Apprise (without receipts)"
    sentence = "Posts through Teams, Gotify, Pushover, Signal and some fifty other services."
    asks_when_unsure = True
    destination_fields = (
        fields.name("phone"),
        fields.secret(
            "apprise_url",
            "Apprise URL",
            "One service and one target, such as gotifys://host/token. Apprise only reports whether "
            "the service accepted a message, so posts can’t be edited or deleted later.",
            apprise_url,
        ),
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is name@service."""
        schema = service_address(given["apprise_url"]).schema
        account = given["account"]
        return ParsedDestination(
            core=f"{account}@{schema}",
            label=f"{account} by {schema}",
            config={"account": account},
            secrets={"apprise_url": given["apprise_url"]},
        )
