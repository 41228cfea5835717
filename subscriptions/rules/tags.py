import csv
import json
from collections.abc import Iterable

from common.refused import Refused
from common.text import one_line

LONGEST_TAG = 100
MOST_TAGS_OF_ONE = 50
MOST_IN_SEGMENT = 20
# More values are no tags.
MOST_TAGS = 2000


class BadTag(Refused):
    pass


def tag_key(name: str) -> str:
    return name.casefold()


def tidy_tag(name: str) -> str:
    tidy = one_line(name).strip()
    if not tidy or len(tidy) > LONGEST_TAG or "," in tidy:
        raise BadTag(f"A tag is 1 to {LONGEST_TAG} characters long, without a comma.", "tags")
    return tidy


def tidy_tags(names: Iterable[str]) -> tuple[str, ...]:
    """Remove duplicates in any case. Raises BadTag."""
    unique: dict[str, str] = {}
    for name in map(tidy_tag, names):
        unique.setdefault(tag_key(name), name)
    if len(unique) > MOST_TAGS_OF_ONE:
        raise BadTag(f"Give at most {MOST_TAGS_OF_ONE} tags.", "tags")
    return tuple(unique.values())


def tags_of_cell(text: str) -> tuple[str, ...]:
    """Parse `a, b`, `a;b`, `"a","b"` or `["a", "b"]`. Raises BadTag."""
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except ValueError:
            listed = None
        if isinstance(listed, list):
            return tidy_tags(str(each) for each in listed if str(each).strip())
        text = text.strip("[]")
    separator = ";" if ";" in text and "," not in text else ","
    try:
        names = next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        names = text.split(separator)
    return tidy_tags(name for name in names if name.strip())


def check_segment(*, any_of: Iterable[str] = (), none_of: Iterable[str] = ()) -> None:
    """Raises BadTag, also if nobody can match."""
    wanted, unwanted = (set(map(tag_key, tidy_tags(names))) for names in (any_of, none_of))
    if len(wanted) + len(unwanted) > MOST_IN_SEGMENT:
        raise BadTag(f"Choose at most {MOST_IN_SEGMENT} tags.")
    if wanted and wanted <= unwanted:
        raise BadTag("The same tag is on both sides. Remove it from one.")
