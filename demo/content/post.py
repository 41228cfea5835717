from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Europe/Paris")
CORRECTED_AFTER = timedelta(minutes=12)
WITHDRAWN_AFTER = timedelta(minutes=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """`body` has paragraphs between empty lines; those with a leading tag are HTML.

    `days_ago` and `at` are in the harbour's zone. `first_body` was later corrected; `withdrawn` posts are
    removed again. `alt` describes the picture `scene`.
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
