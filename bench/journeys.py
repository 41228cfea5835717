"""`python -m bench.journeys [--list]`: our files and functions that run for one post.

SQLite, one reader, a mail server on loopback. Runs the tasks that beat sends, so one script can compare two
versions.
"""

import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

HERE = Path(__file__).resolve().parents[1]
APPS = ("common", "feeds", "subscriptions", "channels", "delivery", "reader", "feedletter_site")
UNNAMED = ("<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<module>")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="feedletter-journeys-") as folder:
        os.environ.update(
            DATABASE_URL=f"sqlite:///{folder}/feedletter.db",
            DATA_DIR=folder,
            SECRET_KEY="only for the bench, long enough to be a key",
            ALLOW_PRIVATE_NETWORKS="127.0.0.0/8",
            POLL_HOST_GAP="0",
            DJANGO_SETTINGS_MODULE="feedletter_site.settings",
        )
        import django

        django.setup()
        for name, passed in journeys():
            shown = len({code.co_filename for code in passed}), len(passed)
            print(f"{name:<10} {shown[0]:>4} files {shown[1]:>5} functions")
            if "--list" in sys.argv:
                for code in sorted(passed, key=lambda code: (code.co_filename, code.co_firstlineno)):
                    print(f"    {Path(code.co_filename).relative_to(HERE)} {code.co_qualname}")


def journeys() -> list[tuple[str, set[CodeType]]]:
    from django.conf import settings
    from django.core.management import call_command
    from django.utils import timezone

    import delivery.tasks
    import feeds.tasks
    import subscriptions.tasks
    from feeds.models import Feed
    from tests.e2e.journey import NEW, READER, Blog
    from tests.servers.smtp_server import SmtpServer

    call_command("migrate", verbosity=0)
    with Blog() as blog, SmtpServer() as mail, open(os.devnull, "w", encoding="utf-8") as nowhere:
        settings.EMAIL_URL = mail.url
        call_command("add_feed", blog.feed, "--ping", stdout=nowhere)
        feed = str(Feed.objects.get().pk)
        call_command("define_subscribable", "starlight", "--feed", feed, stdout=nowhere)
        call_command("subscribe", "starlight", "--email", READER, stdout=nowhere)
        blog.publish(NEW)
        Feed.objects.update(next_poll_at=timezone.now())
        passed = [
            ("poll", traced(feeds.tasks.poll)),
            ("assign", traced(subscriptions.tasks.assign)),
            ("publish", traced(delivery.tasks.complete)),
            ("send", traced(delivery.tasks.send)),
        ]
        mail.wait_for(1, 20)
    return passed


def traced(task: Callable[[], object]) -> set[CodeType]:
    """Return our functions that ran, in any thread."""
    passed: set[CodeType] = set()
    folders = tuple(f"{HERE / app}{os.sep}" for app in APPS)

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(folders) and code.co_name not in UNNAMED:
            passed.add(code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        task()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return passed


if __name__ == "__main__":
    main()
