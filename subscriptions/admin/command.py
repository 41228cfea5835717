"""The command that defines a newsletter as it is now."""

import shlex

from subscriptions.models import Subscribable
from subscriptions.newsletters.define import USES
from subscriptions.rules.cron_plan import week_plan

# Given only where they differ from those of a new newsletter.
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
    words = ["manage.py", "define_subscribable", subscribable.name]
    for feed in subscribable.feeds.order_by("pk"):
        words += ["--feed", str(feed.pk)]
    if plan := week_plan(subscribable.schedule):
        words += ["--arrangement", "weekly", "--at", f"{plan.at:%H:%M}"]
        for day in plan.weekdays:
            words += ["--weekday", Subscribable.Weekday(day).label.lower()]
    else:
        words += ["--arrangement", subscribable.arrangement]
    uses = frozenset() if plan else USES[subscribable.arrangement]
    if "at" in uses:
        words += ["--at", f"{subscribable.at:%H:%M}"]
    if "day_of_month" in uses:
        words += ["--day-of-month", str(subscribable.day_of_month)]
    if "cron" in uses:
        words.append(f"--cron={subscribable.cron}")
    if "n" in uses:
        words += ["--n", str(subscribable.n)]
    if "max_wait_days" in uses and subscribable.max_wait_days is not None:
        words += ["--max-wait-days", str(subscribable.max_wait_days)]
    usual = Subscribable()
    for option, field in IF_OTHER:
        value = getattr(subscribable, field)
        if value != getattr(usual, field):
            words.append(f"{option}={value}")
    words += [f"--embed-host={host}" for host in subscribable.embed_hosts.splitlines()]
    words += [f"--option={name}={value}" for name, value in subscribable.options.items()]
    words += [f"--param={name}={value}" for name, value in subscribable.params.items()]
    return shlex.join(words)
