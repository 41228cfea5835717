"""The programs that people come from: how their lists are known, and what they call things."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LIST_STATUSES = ("confirmed", "unconfirmed", "unsubscribed", "suppressed")

# The words of other programs for our four.
STATUS_WORDS: Mapping[str, str] = {
    **{status: status for status in LIST_STATUSES},
    **dict.fromkeys(("subscribed", "active", "enabled", "regular", "premium", "free"), "confirmed"),
    **dict.fromkeys(("trialed", "unpaid", "gifted", "churning", "past_due", "paused"), "confirmed"),
    **dict.fromkeys(("pending", "unactivated", "not confirmed yet", "validating"), "unconfirmed"),
    **dict.fromkeys(("pending verification", "inactive", "invited"), "unconfirmed"),
    **dict.fromkeys(("left", "cancelled", "disabled", "removed", "archived", "deleted"), "unsubscribed"),
    **dict.fromkeys(("unsub", "opted out", "opt-out", "optout", "declined"), "unsubscribed"),
    **dict.fromkeys(("cleaned", "bounced", "complained", "blocklisted", "spammy"), "suppressed"),
    **dict.fromkeys(("blacklisted", "blocked", "undeliverable", "spam", "invalid"), "suppressed"),
}


@dataclass(frozen=True, slots=True)
class Program:
    """How to know a program's file, what it calls things, and the status of a line that names none.

    `dates` is the order in which it writes day and month: “dmy” or “mdy”. `note` says what its file does not.
    """

    name: str
    signs: frozenset[str] = frozenset()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    status: str = "confirmed"
    status_words: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    dates: str = ""
    note: str = ""


LISTMONK = (
    "listmonk’s file does not say who left a list: “enabled” people count as what you say of lines without a"
    " status. Import those who left first, as “unsubscribed”."
)

# A file is of the first program whose signs are all there.
PROGRAMS = (
    Program("Mailchimp", frozenset(("optin time", "confirm time"))),
    Program("Substack", frozenset(("active subscription", "expiry"))),
    Program("Ghost", frozenset(("subscribed to emails", "created at")), {"unsubscribed": ("deleted at",)}),
    Program(
        "Buttondown",
        frozenset(("creation date", "metadata")),
        {
            "status": ("type", "subscriber type"),
            "left": ("unsubscription date",),
            "bounced": ("undeliverability date",),
        },
        ignored=frozenset(("unsubscription reason", "undeliverability reason")),
    ),
    Program("beehiiv", frozenset(("tier", "created at", "status"))),
    Program(
        "listmonk",
        frozenset(("uuid", "attributes", "status")),
        status="",
        status_words={"enabled": ""},
        note=LISTMONK,
    ),
    Program(
        "Brevo",
        frozenset(("email blacklisted",)),
        {"unsubscribed": ("email blacklisted",), "added": ("added time",)},
        ignored=frozenset(("sms blacklisted", "whatsapp blacklisted")),
        dates="dmy",
    ),
    Program(
        "phpList",
        frozenset(("is this subscriber confirmed",)),
        {
            "confirms": ("is this subscriber confirmed",),
            "suppressed": ("is this subscriber blacklisted", "blacklisted"),
            "unsubscribed": ("is this account disabled?",),
            "added": ("entered",),
        },
        ignored=frozenset(("number of bounces", "number of bounces on this subscriber")),
    ),
    Program(
        "MailerLite",
        frozenset(("subscriber", "subscribed", "groups")),
        {"email": ("subscriber",), "added": ("subscribed",), "tags": ("groups",)},
    ),
    Program("FeedBurner", frozenset(("subscribed", "status")), {"added": ("subscribed",)}, dates="mdy"),
)
NO_PROGRAM = Program("", status="")
