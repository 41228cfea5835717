from collections.abc import Mapping
from dataclasses import dataclass, field

LIST_STATUSES = ("confirmed", "unconfirmed", "unsubscribed", "suppressed")


@dataclass(frozen=True, slots=True)
class Program:
    """`status` is for lines without one. `dates`: “dmy” or “mdy”. `note`: missing data."""

    name: str
    signs: frozenset[str] = frozenset()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    status: str = "confirmed"
    status_words: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    dates: str = ""
    note: str = ""


OURS = "Feedletter"
LISTMONK = (
    "listmonk’s file does not say who left a list: “enabled” people count as what you say of lines without a"
    " status. Import those who left first, as “unsubscribed”."
)

# The first match counts.
PROGRAMS = (
    Program(OURS, frozenset(("status", "consent how", "consent words", "tags")), status=""),
    Program(
        "MailPoet",
        frozenset(("list status", "global status")),
        {
            "status": ("list status", "global status"),
            "added": ("subscription time", "subscribed at"),
            "confirmed": ("confirmation time", "confirmed at"),
        },
    ),
    Program("Mailchimp", frozenset(("optin time", "confirm time"))),
    Program(
        "Substack",
        frozenset(("active subscription", "expiry")),
        # It means a paid subscription.
        ignored=frozenset(("active subscription",)),
    ),
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
    Program(
        "beehiiv",
        frozenset(("tier", "created at", "status")),
        status_words={"inactive": "unsubscribed", "needs_attention": "unconfirmed"},
    ),
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
        ignored=frozenset(
            (
                "number of bounces",
                "number of bounces on this subscriber",
                "send this subscriber html emails",
                "did this subscriber manually confirm",
                "which page was used to subscribe",
            )
        ),
    ),
    Program(
        "MailerLite",
        frozenset(("subscriber", "subscribed", "groups")),
        {"email": ("subscriber",), "added": ("subscribed",), "tags": ("groups",)},
    ),
    Program(
        "Mailman",
        frozenset(("email", "display name", "delivery status")),
        {"status": ("delivery status",)},
        status="",
        status_words={
            "enabled": "",
            "unknown": "",
            "by_user": "unsubscribed",
            "by_bounces": "suppressed",
            "by_moderator": "unsubscribed",
        },
    ),
    Program("FeedBurner", frozenset(("subscribed", "status")), {"added": ("subscribed",)}, dates="mdy"),
)
NO_PROGRAM = Program("", status="")
