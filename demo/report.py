from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from common.cli.tables import TableRow, table_lines
from delivery.models import Delivery, Issue, IssueItem
from demo.blog import LIVE_EVERY
from demo.content import CORRECTED, WITHDRAWN
from demo.newsletters import NEWSLETTERS
from demo.replay import Tally

MAILBOX = Delivery.State.STORED


def newsletter_rows() -> list[dict[str, Any]]:
    return [
        {
            "newsletter": newsletter.title,
            "rhythm": newsletter.rhythm,
            "readers": len(newsletter.readers),
            "issues": Issue.objects.filter(subscribable__name=newsletter.name).count(),
            "posts": IssueItem.objects.filter(issue__subscribable__name=newsletter.name).count(),
            "letters": letters_of(newsletter.name),
        }
        for newsletter in NEWSLETTERS
    ]


def letters_of(name: str) -> int:
    letters = Delivery.objects.filter(issue__subscribable__name=name, state=MAILBOX)
    return letters.filter(kept_message__isnull=False).count()


def without_letters(rows: Iterable[TableRow]) -> list[str]:
    return [str(row["rhythm"]) for row in rows if not row["letters"]]


def story(tally: Tally, rows: Iterable[TableRow], bridged: int, seconds: float) -> Iterator[str]:
    yield f"Five weeks of Harbour Notes, replayed in {seconds:.0f} seconds:"
    yield f"  {tally.posts} posts were seen, {tally.there_before} older than the newsletters: not sent."
    yield (
        f"  {tally.corrected} was corrected 12 minutes after it appeared (“{CORRECTED.title}”): "
        "the letters carry the new text."
    )
    yield f"  {tally.withdrawn} was withdrawn after 20 minutes (“{WITHDRAWN.title}”): nobody got it."
    issues = tally.issues - bridged
    yield f"  {issues} issues went out as {tally.letters} letters, all of them in the mailbox."
    yield f"  Two bridges made {bridged} posts in the last days, on the demo's own Mastodon and Discord."
    yield ""
    yield from table_lines(rows)


def signpost(urls: Mapping[str, str], user: str, password: str) -> Iterator[str]:
    yield f"Newsletters  {urls['site']}"
    yield f"Mailbox      {urls['mailbox']}"
    yield f"Admin        {urls['admin']}   user {user}, password {password} (for this demo only)"
    yield f"Reader       {urls['reader']}   the same user and password: three channels, and unread posts"
    yield f"Sample blog  {urls['blog']}"
    yield f"Mastodon     {urls['mastodon']}   where a bridge posts"
    yield f"Discord      {urls['discord']}   where another does, and where to try the bot: /feed add"


def farewell() -> Iterator[str]:
    minutes = LIVE_EVERY.total_seconds() / 60
    yield f"The blog goes on: a note every {minutes:.0f} minutes, soon in the mailbox and on both timelines."
    yield "Stop the demo with Ctrl-C."


def ended() -> Iterator[str]:
    yield "DEMO_EXIT=1: the demo ends here, so these pages are not served. Without it they are, until Ctrl-C."
