import sys
from dataclasses import replace
from datetime import date, datetime

from django.conf import settings

from common.clock import utcnow
from demo.services import Elsewhere, arguments
from feedletter_site.management.commands.up import plan
from feedletter_site.supervisor import ProcessPlan
from feeds.adding.add import alter_feed
from feeds.models import Feed
from feeds.polling.poll import request_poll


def serving_plan(
    bind: str, *, blog_port: int, services_port: int, elsewhere: Elsewhere, today: date, live_from: datetime
) -> ProcessPlan:
    module = [sys.executable, "-m"]
    blog = [*module, "demo.server", str(blog_port), today.isoformat(), live_from.isoformat()]
    told = arguments(services_port, settings.DATA_DIR, elsewhere)
    services = [*module, "demo.services", *told]
    usual = plan(bind)
    return replace(usual, commands={"blog": blog, "services": services, **usual.commands})


def go_live(feed: Feed) -> None:
    """Let posts settle at once, so that letters need no half hour."""
    alter_feed(
        feed=feed,
        min_delay_minutes=0,
        await_stabilization_minutes=0,
        max_delay_minutes=0,
        recheck_every_minutes=0,
    )
    request_poll(feed_ids=[feed.pk], now=utcnow())
