from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from common.cli.commands import TableRow, table_lines
from delivery.models import Delivery, Issue, IssueItem
from demo.blog import LIVE_EVERY
from demo.content import CORRECTED, WITHDRAWN
from demo.newsletters import NEWSLETTERS, WEEKS_LINKS
from demo.replay import Tally
from subscriptions.models import SeriesRun, Subscription

MAILBOX = Delivery.State.STORED


def newsletter_rows() -> list[dict[str, Any]]:
    return [
        {
            "newsletter": newsletter.title,
            "rhythm": newsletter.rhythm,
            "subscribers": Subscription.objects.filter(
                subscribable__name=newsletter.name, status=Subscription.Status.CONFIRMED
            ).count(),
            "issues": Issue.objects.filter(subscribable__name=newsletter.name, is_hidden=False).count(),
            "posts": IssueItem.objects.filter(
                issue__subscribable__name=newsletter.name, issue__is_hidden=False
            ).count(),
            "emails": letters_of(newsletter.name),
        }
        for newsletter in (*NEWSLETTERS, WEEKS_LINKS)
    ]


def letters_of(name: str) -> int:
    letters = Delivery.objects.filter(issue__subscribable__name=name, state=MAILBOX)
    return letters.filter(kept_message__isnull=False).count()


def of_series() -> tuple[int, int]:
    """Return how many emails a series has sent, and to how many subscribers."""
    letters = Delivery.objects.filter(issue__broadcast__series_place__isnull=False, state=MAILBOX)
    return letters.count(), SeriesRun.objects.count()


def story(tally: Tally, rows: Iterable[TableRow], bridged: int, seconds: float) -> Iterator[str]:
    yield f"Five weeks of Harbour Notes, replayed in {seconds:.0f} seconds:"
    yield f"  {tally.posts} posts seen; {tally.there_before} were older than the newsletters, so not sent."
    yield (
        f"  {tally.corrected} corrected after 12 minutes (“{CORRECTED.title}”): the emails have the new text."
    )
    yield f"  {tally.withdrawn} withdrawn after 20 minutes (“{WITHDRAWN.title}”): it was not sent."
    emails, people = of_series()
    issues, sent = tally.issues - bridged, tally.letters - emails
    yield f"  {issues} issues sent as {sent} emails, all of them in the mailbox."
    yield f"  {emails} emails of a series, to {people} new subscribers of The Harbour Weekly."
    yield f"  {bridged} posts made by two bridges, on the demo's own Mastodon and Discord."
    yield ""
    yield from table_lines(rows)


def signpost(urls: Mapping[str, str], user: str, password: str) -> Iterator[str]:
    yield "Open one of these first. Each link signs you in once, within an hour:"
    yield f"Admin        {urls['admin']}"
    yield f"Mailbox      {urls['mailbox']}   all emails that were sent"
    yield f"Reader       {urls['reader']}   three channels with unread posts"
    yield f"Series       {urls['series']}   emails for new subscribers of The Harbour Weekly"
    yield f"Later, sign in as {user} with the password {password} (for this demo only)."
    yield ""
    yield f"Newsletters  {urls['site']}"
    yield f"Picks        {urls['picks']}   what Ada starred, sent as The Week’s Links on Fridays"
    yield f"Sample blog  {urls['blog']}"
    yield f"Mastodon     {urls['mastodon']}   where a bridge posts"
    yield f"Discord      {urls['discord']}   where another bridge posts; try the bot there: /feed add"
    yield f"Fediverse    {urls['fediverse']}   where Ada follows a newsletter, likes and answers its issues"


def farewell() -> Iterator[str]:
    minutes = LIVE_EVERY.total_seconds() / 60
    yield f"The blog publishes a note every {minutes:.0f} minutes. Look for it in the mailbox soon."
    yield "Stop the demo with Ctrl-C."


def ended() -> Iterator[str]:
    yield "DEMO_EXIT=1: the demo ends here and serves no pages. Without it, it runs until Ctrl-C."
