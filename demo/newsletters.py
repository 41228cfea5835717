from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any

from delivery.models import Theme
from feeds.models import Feed
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import define_subscribable
from subscriptions.subscribers.admin_changes import subscribe

NAMES = (
    "Ada Lindqvist",
    "Ben Osei",
    "Clara Roth",
    "Dev Patel",
    "Emil Novak",
    "Farah Aziz",
    "Grace Kim",
    "Hugo Martin",
    "Iris Berg",
)
READERS = tuple(f"{name} <{name.split()[0].lower()}@example.org>" for name in NAMES)
ADA, BEN, CLARA, DEV, EMIL, FARAH, GRACE, HUGO, IRIS = READERS


@dataclass(frozen=True, slots=True)
class Newsletter:
    """`rhythm` is for the demo's output; `look` has fields of its theme, and the `scene` of its header."""

    name: str
    title: str
    rhythm: str
    description: str
    fields: Mapping[str, Any]
    look: Mapping[str, Any]
    readers: tuple[str, ...] = field(default_factory=tuple)


NEWSLETTERS = (
    Newsletter(
        "harbour-notes",
        "Harbour Notes",
        "each post",
        "Every note from the harbour, as soon as it is ready.",
        {"arrangement": "each"},
        {"style": Theme.Style.SERIF, "accent": "#1f5f78"},
        (ADA, BEN, CLARA, DEV),
    ),
    Newsletter(
        "harbour-morning",
        "Harbour Notes in the Morning",
        "daily, 07:00",
        "Yesterday’s notes with your coffee, at seven.",
        {"arrangement": "daily", "at": time(7)},
        {
            "style": Theme.Style.BOLD,
            "accent": "#b4541a",
            "scene": "dawn",
            "alt": "Sunrise over still water, and a small sail",
        },
        (EMIL, FARAH, ADA),
    ),
    Newsletter(
        "harbour-weekly",
        "The Harbour Weekly",
        "weekly, Monday 07:00",
        "The week by the water, on Monday morning.",
        {"arrangement": "weekly", "at": time(7), "weekday": Subscribable.Weekday.MONDAY},
        {
            "style": Theme.Style.SERIF,
            "accent": "#0b6e6e",
            "scene": "noon",
            "alt": "A sailing boat on a bright sea",
        },
        (GRACE, HUGO, IRIS, BEN, CLARA),
    ),
    Newsletter(
        "harbour-monthly",
        "The Harbour Monthly",
        "monthly, on the 1st at 07:00",
        "A month of notes, for a long evening.",
        {"arrangement": "monthly", "at": time(7), "day_of_month": 1, "content": "excerpt"},
        {"style": Theme.Style.SANS, "accent": "#2f6b3c", "background": "#eef3ec"},
        (IRIS, DEV),
    ),
    Newsletter(
        "harbour-handful",
        "A Handful of Harbour",
        "every 5 posts",
        "Five notes at a time, whenever there are five.",
        {"arrangement": "every_n", "n": 5},
        {"style": Theme.Style.SANS, "accent": "#7a3e6b"},
        (HUGO, EMIL),
    ),
    Newsletter(
        "harbour-ferry",
        "Harbour Notes for the Ferry Home",
        "Monday and Thursday 18:00",
        "Something to read on the way home, twice a week.",
        {"arrangement": "cron", "cron": "0 18 * * 1,4"},
        {
            "style": Theme.Style.BOLD,
            "accent": "#3a4f8a",
            "scene": "dusk",
            "alt": "The sun sets behind the harbour's hills",
        },
        (FARAH, GRACE, BEN),
    ),
)

# Of the reader's picks.
WEEKS_LINKS = Newsletter(
    "harbour-links",
    "The Week’s Links",
    "weekly, Friday 16:00",
    "Notes from the coast that Ada starred this week, and why.",
    {"arrangement": "weekly", "at": time(16), "weekday": Subscribable.Weekday.FRIDAY},
    {"style": Theme.Style.SANS, "accent": "#8a3b1e", "footer": "Chosen by Ada, on the ferry home."},
    (BEN, IRIS, CLARA, DEV),
)


def define_all(feed: Feed, *, now: datetime) -> list[Subscribable]:
    return [define(newsletter, feed, now=now) for newsletter in NEWSLETTERS]


def define(newsletter: Newsletter, feed: Feed, *, now: datetime) -> Subscribable:
    subscribable = define_subscribable(
        name=newsletter.name,
        feeds=[feed],
        title=newsletter.title,
        description=newsletter.description,
        time_zone="Europe/Paris",
        **newsletter.fields,
    )
    for place, reader in enumerate(newsletter.readers):
        came = now - timedelta(days=9 * place + 2)
        subscribe(subscribable=subscribable, data={"email": reader}, now=came)
    return subscribable
