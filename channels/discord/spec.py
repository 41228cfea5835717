import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from channels import fields
from channels.bridge import BridgeSpec, account_field
from channels.discord.message import MOST_TAGS, NO_FOOTER, THREAD_NAME_LIMIT
from channels.http.links import postable
from channels.wording import checked_template
from common.ports.channels import Field, ParsedDestination
from common.truncation import plain_line
from subscriptions.rules.filter_words import LONGEST_WORD, MOST_WORDS, InvalidWords, read_words, typed_words

SENDER_LIMIT, FOOTER_LIMIT = 80, 200
THREAD_MINUTES = {"": "None", "60": "An hour", "1440": "A day", "4320": "Three days", "10080": "A week"}
WEBHOOK_EXAMPLE = "https://discord.com/api/webhooks/…"
_HOSTS = re.compile(r"(?:(?:ptb|canary)\.)?discord(?:app)?\.com")
_WEBHOOK = re.compile(r"/api(?:/v\d+)?/webhooks/(\d{5,20})/([\w-]{20,200})/?")
_CHANNEL = re.compile(r"/channels/(?:\d{5,20}/)*(\d{5,20})/?")
_COLOUR = re.compile(r"#?([0-9a-fA-F]{6})", re.ASCII)
_TAKEN_NAMES = ("discord", "clyde")


def webhook(typed: str) -> str:
    try:
        parts = urlsplit(typed)
        is_discords = parts.scheme == "https" and _HOSTS.fullmatch(parts.netloc.lower())
    except ValueError:
        is_discords = None
    found = _WEBHOOK.fullmatch(parts.path) if is_discords else None
    if found is None:
        raise ValueError(f"this isn’t a Discord webhook address, such as {WEBHOOK_EXAMPLE}")
    return f"https://discord.com/api/v10/webhooks/{found[1]}/{found[2]}"


def an_id_of_discord(typed: str) -> str:
    """Return an id or the one in a link. Raises ValueError."""
    found = _CHANNEL.search(typed)
    number = found[1] if found else typed
    if not re.fullmatch(r"\d{5,20}", number, re.ASCII):
        raise ValueError(
            "enter the ID, a number of about 18 digits. Discord’s developer mode shows “Copy ID”."
        )
    return number


def tags(typed: str) -> str:
    found = typed.replace(",", " ").split()
    if len(found) > MOST_TAGS:
        raise ValueError(f"at most {MOST_TAGS} tags.")
    return " ".join(an_id_of_discord(one) for one in found)


def sender_name(typed: str) -> str:
    name = plain_line(typed)
    if len(name) > SENDER_LIMIT:
        raise ValueError(f"at most {SENDER_LIMIT} characters.")
    if any(taken in name.lower() for taken in _TAKEN_NAMES) or name.lower() in ("everyone", "here"):
        raise ValueError(
            "Discord doesn’t allow names that contain “discord” or “clyde”, or “everyone” or “here”."
        )
    return name


def picture(typed: str) -> str:
    if not (link := postable(typed)) or len(typed) > 2_000:
        raise ValueError("enter the web address of a picture, such as https://blog.example/logo.png.")
    return link


def colour(typed: str) -> str:
    found = _COLOUR.fullmatch(typed)
    if found is None:
        raise ValueError("enter six digits from 0 to 9 and a to f, such as #f5a623.")
    return f"#{found[1].lower()}"


def words(typed: str) -> str:
    try:
        return typed_words(read_words(typed))
    except InvalidWords:
        raise ValueError(
            f"enter at most {MOST_WORDS} words of {LONGEST_WORD} characters each. Put phrases in quotation "
            "marks. A star must follow a character."
        ) from None


STYLES = {
    "": "A card",
    "compact": "Short text with a link",
    "text": "Text with a preview",
    "link": "Link only",
}
PICTURE_SIZES = {"": "Large", "small": "Small", "none": "None"}
_STYLE = fields.choice(
    "style", "Looks", "A card has the title, the beginning of the post and its picture.", STYLES
)
_COMMON = (
    _STYLE,
    fields.choice(
        "image",
        "Picture",
        "Shown on the post’s card. In short text it’s shown only if there is little text.",
        PICTURE_SIZES,
    ),
    Field("colour", "Colour", "Of the card's edge, such as #f5a623.", clean=colour),
    fields.choice("author", "Author", "On the card.", {"": "Shown", "off": "Not shown"}),
    fields.line(
        "footer",
        "Foot",
        f"Of the card. Empty: the newsletter's title; {NO_FOOTER} for none.",
        most=FOOTER_LIMIT,
    ),
    fields.switch(
        "trim",
        "Remove repeated text",
        "Removes text that nearly all summaries of a feed begin or end with. Short text always removes it.",
    ),
    Field(
        "role",
        "Role to mention",
        "ID of a role to mention with each post. Leave empty for none.",
        clean=an_id_of_discord,
    ),
    Field(
        "role_words",
        "Words that trigger the mention",
        'Mentions the role only for posts with one of these words, for example: release "new '
        'version" bee*. Leave empty to mention it for every post.',
        clean=words,
    ),
    fields.SILENT,
    Field(
        "thread_name",
        "Name of each new thread",
        f"Used where each post starts a thread. The default is “{{title}}”. At most "
        f"{THREAD_NAME_LIMIT} characters "
        "are used.",
        clean=checked_template,
    ),
    Field("applied_tags", "Forum tags", f"IDs of at most {MOST_TAGS} tags, separated by spaces.", clean=tags),
    Field("thread_id", "Thread", "ID of a thread that gets all posts.", clean=an_id_of_discord),
)


def _sender(usual: str, needs: str = "") -> tuple[Field, ...]:
    return (
        Field("sender_name", "Name of the sender", f"Empty: {usual} own. {needs}".strip(), clean=sender_name),
        Field("sender_picture", "Picture of the sender", f"Its address; empty: {usual} own.", clean=picture),
    )


class DiscordSpec(BridgeSpec):
    key = "discord"
    label = "Discord"
    sentence = "Posts to a channel of your server through a webhook."
    oauth = "channels.discord.connect.DiscordConnect"
    edits = deletes = True
    asks_when_unsure = True
    destination_fields = (
        fields.secret(
            "webhook_url",
            "Webhook URL",
            "In Discord: the channel's settings, Integrations, Webhooks, New webhook, Copy webhook URL.",
            webhook,
        ),
    )
    own_options = (*_COMMON, *_sender("the webhook's"))

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is the webhook's id."""
        url = given["webhook_url"]
        number = url.split("/")[-2]
        return ParsedDestination(core=number, label=f"Webhook {number}", secrets={"webhook_url": url})

    def place(self, config: Mapping[str, str]) -> str:
        return config.get("channel_id", "")


class DiscordBotSpec(BridgeSpec):
    key = "discord_bot"
    label = "Discord bot"
    sentence = "Posts to a channel of any server that your bot has joined."
    edits = deletes = True
    account_fields = (fields.secret("token", "Bot token", "From Discord's developer portal, under Bot."),)
    destination_fields = (
        account_field("discord_bot", "Bot", "The bot account that posts."),
        fields.needed(
            "channel_id",
            "Channel",
            "ID of the channel, or a link to it. The bot needs permission to view it, post, embed "
            "links and read its history.",
            an_id_of_discord,
        ),
    )
    own_options = (
        *_COMMON,
        fields.choice(
            "thread_minutes",
            "A thread for each post",
            "Started below the message, and archived after this long without messages. Forums always "
            "have threads. The bot needs permission to create public threads.",
            THREAD_MINUTES,
        ),
        fields.switch(
            "tags_by_category",
            "Tags by category",
            "In forums, adds the tags that have the same name as a category of the post. Save the "
            "bridge again after adding tags to the forum.",
        ),
        fields.switch(
            "crosspost",
            "Publish to followers",
            "In announcement channels, also sends posts to servers that follow the channel.",
        ),
        *_sender(
            "the bot's",
            "To use another name or picture, the bot needs the permission “Manage Webhooks” in the "
            "channel. Without it, it posts as itself.",
        ),
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is the account's name and the channel's id."""
        account, channel = given["account"], given["channel_id"]
        return ParsedDestination(
            core=f"{account}/{channel}",
            label=f"Channel {channel}, by {account}",
            config={"account": account, "channel_id": channel},
        )
