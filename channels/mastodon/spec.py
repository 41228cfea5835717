from collections.abc import Mapping

from channels import fields
from channels.bridge import BridgeSpec
from channels.mastodon.scopes import SCOPES

VISIBILITIES = {
    "public": "Public",
    "unlisted": "Unlisted: not in public timelines; usual for accounts that post often",
    "private": "Followers only",
}
QUOTERS = {"": "The account’s default", "public": "Anyone", "followers": "Followers", "nobody": "Nobody"}
LONGEST_WARNING = 200
TOKEN_HELP = (
    f"On the instance, choose Preferences, Development, New application, with the scopes {SCOPES}. "
    "Also mark the account as automated there."
)


class MastodonSpec(BridgeSpec):
    key = "mastodon"
    label = "Mastodon"
    sentence = "Posts to your account on any instance."
    edits = deletes = True
    address_field = "instance_url"
    oauth = "channels.mastodon.connect.MastodonConnect"
    # Two nicknames are two accounts.
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

    def place(self, config: Mapping[str, str]) -> str:
        number = config.get("account_id", "")
        return f"{number} at {config['instance_url']}" if number else ""
