"""After the replay: the service as `manage.py up` runs it, with the sample blog as one process more."""

import sys
from dataclasses import replace
from datetime import date, datetime

from common.clock import utcnow
from feedletter_site.management.commands.up import plan
from feedletter_site.supervisor import ProcessPlan
from feeds.adding.edit import alter_feed
from feeds.models import Feed
from feeds.polling.poll import request_poll


def serving_plan(bind: str, *, blog_port: int, today: date, live_from: datetime) -> ProcessPlan:
    """What the supervisor keeps running."""
    blog = [sys.executable, "-m", "feedletter_site.demo.server"]
    blog += [str(blog_port), today.isoformat(), live_from.isoformat()]
    usual = plan(bind)
    return replace(usual, commands={"blog": blog, **usual.commands})


def go_live(feed: Feed) -> None:
    """From now on posts settle at once: whoever watches need not wait half an hour for a letter."""
    alter_feed(
        feed=feed,
        min_delay_minutes=0,
        await_stabilization_minutes=0,
        max_delay_minutes=0,
        recheck_every_minutes=0,
    )
    request_poll(feed_ids=[feed.pk], now=utcnow())
