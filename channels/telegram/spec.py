import re
from collections.abc import Mapping

from channels import fields
from channels.bridge import BridgeSpec, account_field
from common.ports.channels import Field, ParsedDestination

_NAME = re.compile(r"(?:https?://)?(?:t\.me/)?@?([A-Za-z]\w{3,31})/?", re.ASCII)


def chat(typed: str) -> str:
    """Accept an id or @name. Raises ValueError."""
    if re.fullmatch(r"-?\d{1,20}", typed, re.ASCII):
        return typed
    if found := _NAME.fullmatch(typed):
        return f"@{found[1]}"
    raise ValueError("enter the name of a public chat, such as @blog_example, or the number of any chat.")


def thread(typed: str) -> str:
    if not re.fullmatch(r"[1-9]\d{0,17}", typed, re.ASCII):
        raise ValueError("enter the number of a topic, which is the last part of its link.")
    return typed


def bot_token(typed: str) -> str:
    if not re.fullmatch(r"\d{1,20}:[\w-]{20,100}", typed, re.ASCII):
        raise ValueError("this isn’t a bot token, which has a number, a colon and other characters.")
    return typed


class TelegramSpec(BridgeSpec):
    key = "telegram"
    label = "Telegram"
    sentence = "Posts to a channel or group with your bot."
    edits = deletes = True
    asks_when_unsure = True
    account_fields = (fields.secret("token", "Bot token", "You get it from @BotFather.", bot_token),)
    destination_fields = (
        account_field("telegram", "Bot", "The bot account that posts."),
        fields.needed(
            "chat",
            "Chat",
            "For example @blog_example, or the number of a private chat. In a channel the bot must "
            "be an administrator who can post.",
            chat,
        ),
    )
    own_options = (
        fields.choice(
            "link_preview", "Preview of the link", "", {"": "Large", "small": "Small", "none": "None"}
        ),
        fields.choice(
            "photo",
            "The post's picture",
            "Posted with the text below it, which is then limited to 1,024 characters.",
            {"": "In the preview only", "on": "As a photo"},
        ),
        Field("thread_id", "Thread", "The number of a group’s topic that gets all posts.", clean=thread),
        fields.SILENT,
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        account, place = given["account"], given["chat"]
        return ParsedDestination(
            core=f"{account}/{place.lower()}",
            label=f"{place}, by {account}",
            config={"account": account, "chat_id": place},
        )
