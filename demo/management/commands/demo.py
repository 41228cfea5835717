import logging
import secrets
import time
from collections.abc import Iterable, Mapping
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
from demo.bridges import FOLLOWED, admin_urls, posts_of_bridges, timeline_urls
from demo.content.post import ZONE
from demo.dressing import EDITOR, SERIES, add_neighbour, begin_series, dress_newsletters, dress_site
from demo.history import History
from demo.newsletters import WEEKS_LINKS, define, define_all
from demo.reader import PICKS_TITLE, add_channels, begin_to_read
from demo.replay import Tally, VirtualClock, beginning, replay, steps, weeks
from demo.server import BlogServer
from demo.services import Elsewhere, ServicesServer, application_here
from demo.serving import go_live, serving_plan
from demo.sign_in import offer_sign_in
from feedletter_site import env
from feedletter_site.management.commands.up import refuse_taken
from feedletter_site.monitoring.first_steps import ALL, put_aside
from feedletter_site.supervisor import ProcessPlan, become
from feeds.adding.add import add_feed
from reader.models import Reader
from reader.people.picks import address_of
from subscriptions.models import Subscribable

ADMIN = EDITOR
SIGNED_IN = ("mailbox", "admin", "reader", "series")
PATHS = {"site": "/", "mailbox": "/mailbox/", "admin": "/admin/", "reader": "/reader/"}


class Command(FeedletterCommand):
    help = (
        "Shows everything with a sample blog: replays five weeks, then runs live. "
        "DEMO_EXIT=1 ends it after the replay."
    )
    quiet = False
    admin: User

    def handle(self, *args: Any, **options: Any) -> None:
        if not self._called_from_command_line:
            raise CommandError("Run the demo from the command line: it replaces this process by its servers.")
        environment.enter()
        self.quiet = bool(options["json"])
        super().handle(*args, **options)
        if not env.flag("DEMO_EXIT"):
            become(self.plan)

    def run(self, **options: Any) -> Printed:
        environment.make_folder_fresh(Path(settings.DATA_DIR))
        refuse_taken(*settings.BIND)
        with self.progress("Creating tables", expected="about ten seconds"):
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
            reader, newsletters = self.set_up(admin, blog_url, clock)
            began = time.monotonic()
            tally = self.replay(steps(now, blog.moments()), clock, now, newsletters, reader)
            add_channels(reader, blog_url, clock=clock)
            seconds = time.monotonic() - began
            clock.now = utcnow()
            with self.progress("Registering the Discord bot", expected="about five seconds"):
                register_bot(now=clock.now)
        for name in (FOLLOWED, WEEKS_LINKS.name):
            go_live(newsletters[name].feeds.get())
        put_aside(ALL)
        self.admin = admin
        self.plan = self.live_plan(server.server_port, services_port, blog)
        return self.tell(tally, seconds, f"{blog_url}/", password)

    def set_up(
        self, user: User, blog_url: str, clock: VirtualClock
    ) -> tuple[Reader, dict[str, Subscribable]]:
        now = clock.now
        feed = add_feed(url=f"{blog_url}/feed.xml", now=now)
        newsletters = {row.name: row for row in define_all(feed, now=now)}
        neighbour = add_neighbour(blog_url, newsletters["harbour-monthly"], now=now)
        reader = begin_to_read(user, [feed, neighbour], clock=clock)
        # In minutes. Each reading takes 15 ms of the replay.
        picks = add_feed(
            url=address_of(reader, "xml"),
            now=now,
            title=PICKS_TITLE,
            hold_floods=False,
            recheck_every_minutes=720,
        )
        newsletters[WEEKS_LINKS.name] = define(WEEKS_LINKS, picks, now=now)
        dress_site(blog_url)
        dress_newsletters(newsletters.values())
        newsletters[SERIES] = begin_series(newsletters[SERIES], now)
        return reader, newsletters

    def replay(
        self,
        moments: Iterable[datetime],
        clock: VirtualClock,
        end: datetime,
        newsletters: Mapping[str, Subscribable],
        reader: Reader,
    ) -> Tally:
        # A neighbour's feed fails as it should.
        logging.getLogger("feeds.polling.record").setLevel(logging.ERROR)
        tally, history = Tally(), History(newsletters, end, reader=reader)
        for number, week in enumerate(weeks(moments, end), 1):
            with self.progress(f"Week {number} of 5", len(week), expected="about eight seconds") as progress:
                brought = replay(week, clock, advance=progress.advance, before=history.until)
            tally.add(brought)
            self.say(
                f"Week {number} of 5, from {week[0].astimezone(ZONE):%d %B}: "
                f"{brought.fresh} posts, {brought.issues} issues, {brought.letters} emails."
            )
        return tally

    def live_plan(self, blog_port: int, services_port: int, blog: Blog) -> ProcessPlan:
        host, port = settings.BIND
        mastodon, discord, fediverse = (f"{settings.SITE_URL}{url}" for url in admin_urls())
        return serving_plan(
            f"{host}:{port}",
            blog_port=blog_port,
            services_port=services_port,
            elsewhere=Elsewhere(
                mastodon=mastodon,
                discord=discord,
                fediverse=fediverse,
                bot=f"{settings.SITE_URL}{reverse('discord_set_up')}",
                blog=f"http://127.0.0.1:{blog_port}/",
            ),
            today=blog.today,
            live_from=utcnow(),
        )

    def tell(self, tally: Tally, seconds: float, blog_url: str, password: str) -> Printed:
        rows = report.newsletter_rows()
        if missing := [str(row["rhythm"]) for row in rows if not row["emails"]]:
            raise CommandError(
                f"The demo went wrong: the mailbox has no email for {' and for '.join(missing)}. "
                "Please report this, with what was printed above."
            )
        site = settings.SITE_URL
        urls = {name: f"{site}{path}" for name, path in PATHS.items()} | {"blog": blog_url}
        series = reverse("admin:delivery_broadcast_series", args=[Subscribable.objects.get(name=SERIES).pk])
        for name in SIGNED_IN:
            path = PATHS.get(name, series)
            urls[name] = f"{site}{offer_sign_in(self.admin, path, now=utcnow())}"
        urls |= timeline_urls() | {"picks": address_of(Reader.objects.get(user=self.admin))}
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
