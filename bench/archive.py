"""Speed of archive pages with 100 posts, beside /healthz of the same server."""

from django.utils import timezone

from bench.web import READERS, Answered, Ask, answered, get, site
from delivery.models import Issue, IssueItem
from feeds.parsing.entry import Entry
from subscriptions.models import Subscribable

POSTS = 100
COUNT = 2_000
# Pages that are not cached, and pages for the warm-up.
NEW, WARM = 200, 20
SENTENCE = "The quick brown fox jumps over the lazy dog, and <em>tells</em> about it at some length. "
# 3 KB.
CONTENT = (
    f"<p>{SENTENCE * 12}</p><h2>What came of it</h2><ul><li>{SENTENCE}</li><li>{SENTENCE}</li></ul>"
    f'<p><img src="https://blog.example/fox.jpg" alt="A fox"></p><p>{SENTENCE * 16}</p>'
)


def archive() -> list[dict[str, object]]:
    paths = [f"/s/archived/archive/{issue.pk}/" for issue in issues(NEW + WARM)]
    with site() as port:
        health = answered(port, get("/healthz"), count=COUNT)
        first = answered(port, each(paths), count=NEW)
        again = answered(port, get(paths[0]), count=COUNT)
    return [
        figure(f"issue of {POSTS} posts", again, health),
        figure("  read for the first time", first, health),
    ]


def each(paths: list[str]) -> Ask:
    """Numbers of the warm-up are negative."""
    asks = [get(path) for path in paths]
    return lambda connection, number: asks[number](connection, number)


def figure(name: str, page: Answered, health: Answered) -> dict[str, object]:
    return {
        "figure": f"{name}, p95 {page.p95_ms:.0f} ms",
        "rate": page.rate,
        "unit": "pages/s",
        "p95_ms": page.p95_ms,
        "baseline": f"/healthz, {READERS} readers",
        "baseline_rate": health.rate,
        "ratio": page.rate / health.rate,
    }


def issues(count: int) -> list[Issue]:
    newsletter = Subscribable.objects.create(name="archived", title="The archived letter")
    made = Issue.objects.bulk_create(_issue(newsletter, number) for number in range(count))
    entries = [_entry(number).to_json() for number in range(POSTS)]
    for issue in made:
        IssueItem.objects.bulk_create(
            IssueItem(issue=issue, position=number, entry=entry) for number, entry in enumerate(entries)
        )
    return made


def _issue(newsletter: Subscribable, number: int) -> Issue:
    return Issue(
        subscribable=newsletter,
        within_type_id=str(number),
        token=f"{number:032x}",
        title=f"Issue {number}",
        subject=f"Issue {number}",
        html="",
        text="",
        published_at=timezone.now(),
    )


def _entry(number: int) -> Entry:
    link = f"https://blog.example/{number}"
    return Entry(
        guid=link,
        title=f"Post {number}",
        link=link,
        authors=("Ada Lovelace",),
        content=CONTENT,
        published=timezone.now(),
    )
