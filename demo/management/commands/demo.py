import secrets
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse

from common.cli.commands import FeedletterCommand, Printed
from common.clock import utcnow
from demo import environment, report
from demo.blog import Blog
from demo.bot import register_bot
from demo.bridges import BRIDGED, admin_urls, connect_all, posts_of_bridges, timeline_urls
from demo.content.post import ZONE
from demo.newsletters import define_all
from demo.reader import begin_to_read
from demo.replay import WEEKS, Tally, VirtualClock, beginning, replay, steps, weeks
from demo.server import BlogServer
from demo.services import Elsewhere, ServicesServer, application_here
from demo.serving import go_live, serving_plan
from feedletter_site import env
from feedletter_site.management.commands.up import refuse_taken
from feedletter_site.monitoring.first_steps import MAIL, put_aside
from feedletter_site.supervisor import ProcessPlan, become
from feeds.adding.add import add_feed
from feeds.models import Feed

ADMIN = "admin"
PATHS = {"site": "/", "mailbox": "/mailbox/", "admin": "/admin/", "reader": "/reader/"}


class Command(FeedletterCommand):
    help = "Shows it all with a sample blog: five weeks replayed, then live. DEMO_EXIT=1 stops in between."
    quiet = False

    def handle(self, *args: Any, **options: Any) -> None:
        if not self._called_from_command_line:
            raise CommandError("The demo runs only from the command line: it becomes its own servers.")
        environment.enter()
        self.quiet = bool(options["json"])
        super().handle(*args, **options)
        if not env.flag("DEMO_EXIT"):
            become(self.plan)

    def run(self, **options: Any) -> Printed:
        environment.make_folder_fresh(Path(settings.DATA_DIR))
        refuse_taken(*settings.BIND)
        self.say("Creating a database of its own …")
        call_command("migrate", verbosity=0)
        admin, password = make_admin()
        now = utcnow()
        clock = VirtualClock(beginning(now))
        blog = Blog(now.astimezone(ZONE).date())
        server = BlogServer(blog, clock)
        services_port = urlsplit(settings.DISCORD_API_URL).port or 0
        folder = Path(settings.DATA_DIR)
        services = ServicesServer(folder, clock, application=application_here(), port=services_port)
        with server.in_thread() as blog_url, services.in_thread():
            feed = self.set_up(blog_url, clock.now)
            began = time.monotonic()
            tally = self.replay(steps(now, blog.moments()), clock, now, feed)
            begin_to_read(admin, feed, blog_url, clock=clock)
            seconds = time.monotonic() - began
            clock.now = utcnow()
            register_bot(now=clock.now)
        go_live(feed)
        # EMAIL_URL is the demo's mailbox.
        put_aside(MAIL)
        self.plan = self.live_plan(server.server_port, services_port, blog)
        return self.tell(tally, seconds, f"{blog_url}/", password)

    def set_up(self, blog_url: str, now: datetime) -> Feed:
        feed = add_feed(url=f"{blog_url}/feed.xml", now=now)
        newsletters = define_all(feed, now=now)
        self.say(
            f"The sample blog is at {blog_url}/; {len(newsletters)} newsletters, one of each arrangement."
        )
        return feed

    def replay(self, moments: Iterable[datetime], clock: VirtualClock, end: datetime, feed: Feed) -> Tally:
        """Bridges are connected for the last days only."""
        tally = Tally()
        for number, week in enumerate(weeks(moments, end), 1):
            with self.progress(f"Week {number} of 5", len(week)) as progress:
                early = [moment for moment in week if moment < end - BRIDGED]
                brought = replay(early, clock, advance=progress.advance)
                if number == WEEKS:
                    connect_all(feed, now=clock.now)
                    brought.add(replay(week[len(early) :], clock, advance=progress.advance))
            tally.add(brought)
            self.say(
                f"Week {number} of 5, from {week[0].astimezone(ZONE):%d %B}: "
                f"{brought.fresh} posts, {brought.issues} issues, {brought.letters} letters."
            )
        return tally

    def live_plan(self, blog_port: int, services_port: int, blog: Blog) -> ProcessPlan:
        host, port = settings.BIND
        mastodon, discord = (f"{settings.SITE_URL}{url}" for url in admin_urls())
        return serving_plan(
            f"{host}:{port}",
            blog_port=blog_port,
            services_port=services_port,
            elsewhere=Elsewhere(
                mastodon=mastodon,
                discord=discord,
                bot=f"{settings.SITE_URL}{reverse('discord_set_up')}",
                blog=f"http://127.0.0.1:{blog_port}/",
            ),
            today=blog.today,
            live_from=utcnow(),
        )

    def tell(self, tally: Tally, seconds: float, blog_url: str, password: str) -> Printed:
        rows = report.newsletter_rows()
        if missing := report.without_letters(rows):
            raise CommandError(
                f"The demo went wrong: there is no letter in the mailbox for {' and for '.join(missing)}. "
                "Please report this, with what was printed above."
            )
        site = settings.SITE_URL
        urls = {name: f"{site}{path}" for name, path in PATHS.items()} | {"blog": blog_url}
        urls |= timeline_urls()
        lines = [
            "",
            *report.story(tally, rows, posts_of_bridges(), seconds),
            "",
            *report.signpost(urls, ADMIN, password),
        ]
        lines += ["", *(report.ended() if env.flag("DEMO_EXIT") else report.farewell())]
        facts = {"newsletters": rows, "urls": urls, "user": ADMIN, "password": password}
        return Printed("\n".join(lines), facts)

    def say(self, line: str) -> None:
        if not self.quiet:
            self.stdout.write(line)
            self.stdout.flush()


def make_admin() -> tuple[User, str]:
    password = secrets.token_urlsafe(9)
    return User.objects.create_superuser(ADMIN, "admin@example.org", password), password
