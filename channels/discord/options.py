"""Options of Discord's newsletters."""

import re

from channels import fields
from channels.discord.message import MOST_TAGS, NO_FOOTER, THREAD_NAME_LIMIT
from channels.http.links import postable
from channels.wording import checked_template
from common.ports.channels import Field
from subscriptions.rules.post_rules import LONGEST_WORD, MOST_WORDS, InvalidWords, read_words, typed_words

SENDER_LIMIT, FOOTER_LIMIT = 80, 200
THREAD_MINUTES = {"": "None", "60": "An hour", "1440": "A day", "4320": "Three days", "10080": "A week"}
_CHANNEL = re.compile(r"/channels/(?:\d{5,20}/)*(\d{5,20})/?")
_COLOUR = re.compile(r"#?([0-9a-fA-F]{6})", re.ASCII)
_TAKEN_NAMES = ("discord", "clyde")
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
    name = fields.words_of_at_most(SENDER_LIMIT)(typed)
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


COMMON = (
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
        f"Used where each post starts a thread. The default is “{{title}}”. At most {THREAD_NAME_LIMIT}"
        " characters are used.",
        clean=checked_template,
    ),
    Field("applied_tags", "Forum tags", f"IDs of at most {MOST_TAGS} tags, separated by spaces.", clean=tags),
    Field("thread_id", "Thread", "ID of a thread that gets all posts.", clean=an_id_of_discord),
)


def sender(usual: str, needs: str = "") -> tuple[Field, ...]:
    return (
        Field("sender_name", "Name of the sender", f"Empty: {usual} own. {needs}".strip(), clean=sender_name),
        Field("sender_picture", "Picture of the sender", f"Its address; empty: {usual} own.", clean=picture),
    )
