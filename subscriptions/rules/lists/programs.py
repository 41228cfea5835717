from collections.abc import Mapping
from dataclasses import dataclass, field

LIST_STATUSES = ("confirmed", "unconfirmed", "unsubscribed", "suppressed")
OURS = "Feedletter"
LISTMONK = (
    "listmonk’s file does not say who left a list: “enabled” people count as what you say of lines without a"
    " status. Import those who left first, as “unsubscribed”."
)


@dataclass(frozen=True, slots=True)
class Program:
    """No program's file confirms anybody: lines without a status get the admin's.

    `ignored`: columns that say nothing about who gets emails. `dates`: “dmy” or “mdy”. `note`: missing data.
    """

    name: str
    signs: frozenset[str] = frozenset()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    status_words: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    dates: str = ""
    note: str = ""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split("; "))


# The first match counts.
PROGRAMS = (
    Program(OURS, frozenset(("status", "consent how", "consent words", "tags"))),
    Program(
        "MailPoet",
        frozenset(("list status", "global status")),
        {
            "status": ("list status", "global status"),
            "added": ("subscription time", "subscribed at"),
            "confirmed": ("confirmation time", "confirmed at"),
        },
    ),
    Program(
        "Mailchimp",
        frozenset(("optin time", "confirm time")),
        ignored=_names("optin ip; cc; leid; euid; gmtoff; dstoff; last changed"),
    ),
    Program(
        "Substack",
        frozenset(("active subscription", "expiry")),
        # They are about paid subscriptions and about what somebody did with emails.
        ignored=_names(
            "active subscription; expiry; plan; first payment at; paid upgrade date; subscription type;"
            " emails received; emails dropped; emails opened; links clicked; last email open; activity"
        ),
    ),
    Program(
        "Ghost",
        frozenset(("subscribed to emails", "created at")),
        {"unsubscribed": ("deleted at",)},
        ignored=_names("complimentary plan; stripe customer id; tiers"),
    ),
    Program(
        "Buttondown",
        frozenset(("creation date", "metadata")),
        {
            "status": ("type", "subscriber type"),
            "left": ("unsubscription date",),
            "bounced": ("undeliverability date",),
        },
        ignored=_names("unsubscription reason; undeliverability reason"),
    ),
    Program(
        "beehiiv",
        frozenset(("tier", "created at", "status")),
        status_words={"inactive": "unsubscribed", "needs_attention": "unconfirmed"},
        ignored=_names("tier"),
    ),
    Program(
        "listmonk", frozenset(("uuid", "attributes", "status")), status_words={"enabled": ""}, note=LISTMONK
    ),
    Program(
        "Brevo",
        frozenset(("email blacklisted",)),
        {"unsubscribed": ("email blacklisted",), "added": ("added time",)},
        ignored=_names("sms blacklisted; whatsapp blacklisted"),
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
        ignored=_names(
            "number of bounces; number of bounces on this subscriber; send this subscriber html "
            "emails; did this subscriber manually confirm; which page was used to subscribe; list "
            "membership; foreign key"
        ),
    ),
    Program(
        "MailerLite",
        frozenset(("subscriber", "subscribed", "groups")),
        {"email": ("subscriber",), "added": ("subscribed",), "tags": ("groups",), "left": ("unsubscribed",)},
        ignored=_names("opt in date; opt in ip; state"),
    ),
    Program(
        "Mailman",
        frozenset(("email", "display name", "delivery status")),
        {"status": ("delivery status",)},
        status_words={
            "enabled": "",
            "unknown": "",
            "by_user": "unsubscribed",
            "by_bounces": "suppressed",
            "by_moderator": "unsubscribed",
        },
        ignored=_names("delivery mode; role; preferred language"),
    ),
    Program("FeedBurner", frozenset(("subscribed", "status")), {"added": ("subscribed",)}, dates="mdy"),
)
NO_PROGRAM = Program("")
