from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from channels import fields
from channels.bridge import BridgeSpec
from common.ports.channels import ParsedDestination

if TYPE_CHECKING:
    from channels.oauth import OAuth

VISIBILITIES = {
    "public": "Public",
    "unlisted": "Unlisted: not in public timelines; usual for accounts that post often",
    "private": "Followers only",
}
QUOTERS = {"": "The account’s default", "public": "Anyone", "followers": "Followers", "nobody": "Nobody"}
LONGEST_WARNING = 200
SCOPES = "read, write:statuses and, for pictures, write:media"
TOKEN_HELP = (
    f"On the instance, choose Preferences, Development, New application, with the scopes {SCOPES}. "
    "Also mark the account as automated there."
)


class MastodonSpec(BridgeSpec):
    key = "mastodon"
    label = "Mastodon"
    sentence = "Posts to your account on any instance."
    edits = deletes = True
    core_is_chosen = True
    announcement_hook = "mastodon_announcement"
    destination_fields = (
        fields.ACCOUNT,
        fields.server("instance_url", "Instance", example="mastodon.example"),
        fields.secret("access_token", "Access token", TOKEN_HELP),
    )
    own_options = (
        fields.choice("visibility", "Visibility", "", VISIBILITIES),
        fields.LANGUAGE,
        fields.line("spoiler", "Content warning", "Shown before each post.", most=LONGEST_WARNING),
        fields.pictures(most=4),
        fields.HASHTAGS,
        fields.SUMMARY,
        fields.THREAD,
        fields.choice("quotes", "Who can quote", "Only from Mastodon 4.5 on.", QUOTERS),
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is nickname@host: two nicknames are two accounts."""
        account, url = given["account"], given["instance_url"]
        host = urlsplit(url).netloc
        return ParsedDestination(
            core=f"{account}@{host}",
            label=f"{account} at {host}",
            config={"account": account, "instance_url": url},
            secrets={"access_token": given["access_token"]},
        )

    def check(self, destination: ParsedDestination) -> ParsedDestination:
        """Raises InvalidDestination (network)."""
        # Imported late: most processes check nothing.
        from channels.mastodon.session import check_token

        return check_token(destination)

    @property
    def connect(self) -> "OAuth":
        from channels.mastodon.connect import MastodonConnect

        return MastodonConnect()

    def place(self, config: Mapping[str, str]) -> str:
        number = config.get("account_id", "")
        return f"{number} at {config['instance_url']}" if number else ""
