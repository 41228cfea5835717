import re
from collections.abc import Mapping

from channels import fields
from channels.bridge import BridgeSpec
from common.ports.channels import Field, InvalidDestination, ParsedDestination

PRIORITIES = {
    "": "Default",
    "1": "Lowest: no sound, at the bottom",
    "2": "Low: no sound",
    "4": "High",
    "5": "Highest",
}
MOST_TAGS = 5


def topic_name(typed: str) -> str:
    if not re.fullmatch(r"[-_A-Za-z0-9]{1,64}", typed):
        raise ValueError("a topic has up to 64 letters, digits, dashes or underscores.")
    return typed


def tag_list(typed: str) -> str:
    tags = [tag for tag in re.split(r"[\s,]+", typed) if tag]
    if len(tags) > MOST_TAGS or not all(re.fullmatch(r"[\w+-]{1,64}", tag) for tag in tags):
        raise ValueError(f"enter up to {MOST_TAGS} words separated by commas, such as newspaper, bee.")
    return ",".join(tags)


class NtfySpec(BridgeSpec):
    key = "ntfy"
    label = "ntfy"
    sentence = "Push notifications to phones and desktops, through ntfy.sh or your server."
    edits = deletes = True
    name_field = "topic"
    destination_fields = (
        fields.server("server_url", "Server", example="ntfy.sh"),
        fields.needed(
            "topic",
            "Topic",
            "Unless the topic is reserved, anyone who guesses its name can read and post. Choose a "
            "long name.",
            topic_name,
        ),
        Field(
            "access_token",
            "Access token",
            "In ntfy, choose Settings, Access tokens. It starts with tk_. Leave empty for a public topic.",
            secret=True,
            clean=fields.secret_word,
        ),
        fields.line("user", "User", "Use this with its password instead of a token.", most=200),
        Field("password", "Password", secret=True),
    )
    own_options = (
        fields.choice("priority", "Priority", "", PRIORITIES),
        Field("tags", "Tags", "For example newspaper, bee. ntfy shows known tags as emoji.", clean=tag_list),
        fields.PICTURE,
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        if bool(given["user"]) != bool(given["password"]):
            raise InvalidDestination("password: enter both user and password.")
        if given["access_token"] and given["user"]:
            raise InvalidDestination("access_token: enter a token, or a user and password, but not both.")
        return super().destination(given)
