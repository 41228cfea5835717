"""The command that would define a newsletter as it is now."""

import shlex
from collections.abc import Iterator

from subscriptions.models import Subscribable
from subscriptions.newsletters.define import USES

# Given only where they are not what a new newsletter has.
IF_OTHER = (
    ("--title", "title"),
    ("--description", "description"),
    ("--channel", "channel"),
    ("--time-zone", "time_zone"),
    ("--approval", "approval"),
    ("--approval-minutes", "approval_minutes"),
    ("--visibility", "visibility"),
    ("--sign-up", "sign_up"),
    ("--language", "language"),
    ("--from", "from_email"),
    ("--reply-to", "reply_to"),
    ("--template", "template"),
    ("--order", "post_order"),
    ("--max-posts", "max_posts"),
    ("--hooks", "hooks"),
)


def define_command(subscribable: Subscribable) -> str:
    """`manage.py define_subscribable …`, quoted for a shell."""
    return shlex.join(["manage.py", "define_subscribable", subscribable.name, *_options(subscribable)])


def _options(subscribable: Subscribable) -> Iterator[str]:
    for feed in subscribable.feeds.order_by("pk"):
        yield from ("--feed", str(feed.pk))
    yield from ("--arrangement", subscribable.arrangement)
    yield from _schedule(subscribable)
    plain = Subscribable()
    for option, field in IF_OTHER:
        value = getattr(subscribable, field)
        if value != getattr(plain, field):
            yield f"{option}={value}"
    for host in subscribable.embed_hosts.splitlines():
        yield f"--embed-host={host}"
    for name, value in subscribable.options.items():
        yield f"--option={name}={value}"
    for name, value in subscribable.params.items():
        yield f"--param={name}={value}"


def _schedule(subscribable: Subscribable) -> Iterator[str]:
    uses = USES[subscribable.arrangement]
    if "at" in uses:
        yield from ("--at", f"{subscribable.at:%H:%M}")
    if "weekday" in uses:
        yield from ("--weekday", Subscribable.Weekday(subscribable.weekday).label.lower())
    if "day_of_month" in uses:
        yield from ("--day-of-month", str(subscribable.day_of_month))
    if "cron" in uses:
        yield f"--cron={subscribable.cron}"
    if "n" in uses:
        yield from ("--n", str(subscribable.n))
    if "max_wait_days" in uses and subscribable.max_wait_days is not None:
        yield from ("--max-wait-days", str(subscribable.max_wait_days))
