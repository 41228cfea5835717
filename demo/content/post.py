"""A post of the sample blog as its author wrote it."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Europe/Paris")
CORRECTED_AFTER = timedelta(minutes=12)
WITHDRAWN_AFTER = timedelta(minutes=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """`body`: paragraphs between empty lines; one that begins with a tag is html already.

    `days_ago` and `at` are in the harbour's zone. `first_body` stood there until it was corrected;
    `withdrawn` posts are taken down again. `scene` names the picture, `alt` describes it.
    """

    slug: str
    title: str
    author: str
    days_ago: int
    at: str
    body: str
    tags: tuple[str, ...] = ()
    scene: str = ""
    alt: str = ""
    first_body: str = ""
    withdrawn: bool = False

    def published(self, today: date) -> datetime:
        day = today - timedelta(days=self.days_ago)
        return datetime.combine(day, time.fromisoformat(self.at), ZONE)
