"""After the replay: what `manage.py up` runs, and the sample blog and the services beside it."""

import sys
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime

from django.conf import settings

from common.clock import utcnow
from feedletter_site.management.commands.up import plan
from feedletter_site.supervisor import ProcessPlan
from feeds.adding.edit import alter_feed
from feeds.models import Feed
from feeds.polling.poll import request_poll


def serving_plan(
    bind: str, *, blog_port: int, services_port: int, bridges: Iterable[str], today: date, live_from: datetime
) -> ProcessPlan:
    """What the supervisor keeps running. `bridges` are their pages' addresses, as the services take them."""
    module = [sys.executable, "-m"]
    blog = [*module, "feedletter_site.demo.server", str(blog_port), today.isoformat(), live_from.isoformat()]
    services = [
        *module,
        "feedletter_site.demo.services",
        str(services_port),
        str(settings.DATA_DIR),
        *bridges,
    ]
    usual = plan(bind)
    return replace(usual, commands={"blog": blog, "services": services, **usual.commands})


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
