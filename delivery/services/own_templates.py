"""Reads what newsletters have instead of our template files."""

from delivery.models import LetterTemplate
from delivery.rendering.sources import Source
from subscriptions.models import Subscribable


def current(subscribable: Subscribable, name: str) -> LetterTemplate | None:
    """The version in use; none where the newsletter uses the default."""
    return LetterTemplate.objects.filter(subscribable=subscribable, name=name, is_current=True).first()


def own_source(subscribable: Subscribable, name: str) -> Source | None:
    """What the newsletter has instead of our file, for rendering."""
    row = current(subscribable, name)
    return source_of(row) if row else None


def own_issue_sources(subscribable: Subscribable) -> dict[str, Source]:
    """All that it has instead of our letters: which one a collection takes is decided when it is rendered."""
    rows = LetterTemplate.objects.filter(
        subscribable=subscribable, is_current=True, name__startswith="issues/"
    )
    return {row.name: source_of(row) for row in rows}


def source_of(row: LetterTemplate) -> Source:
    """A version, copied out of the database."""
    return Source(html=row.html, text=row.text, subject=row.subject)
