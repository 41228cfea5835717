from dataclasses import replace

from feeds.rules.facts import BEYOND, PollPlan
from feeds.rules.reposts import REPOST

ONLY_READ = "came while the feed was only read here"
LETTERS_ENDED = "its feed is no longer sent, only read here"


def only_read(plan: PollPlan) -> PollPlan:
    """Exclude new items. Older ones settle as before."""
    plan.insert = [
        replace(
            insert,
            excluded=insert.excluded if insert.excluded in (REPOST, BEYOND) else ONLY_READ,
            final=False,
            held=False,
        )
        for insert in plan.insert
    ]
    return plan
