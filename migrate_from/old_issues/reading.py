"""Finding out which program wrote an export, and reading it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common.body_limits import MEGABYTE
from common.formats.pg_dump import refuse_unless_plain
from common.refused import Refused
from migrate_from.old_issues import dumps, hosted
from migrate_from.old_issues.found import MOST_JSON, Found, Wanted, json_of, opened_zip

UNKNOWN = (
    "This isn’t an export with issues that we know. Use the zip file of Substack, Mailchimp or Buttondown,"
    " the JSON file of Ghost, or listmonk’s campaigns."
)


@contextmanager
def opened_export(path: Path, wanted: Wanted) -> Iterator[Found]:
    """Yield the export's issues, whose texts can be read meanwhile. Raises Refused."""
    with path.open("rb") as file:
        start = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith(b"PK"):
        refuse_unless_plain(start)
    if start.startswith(b"PK"):
        with opened_zip(path) as archive:
            if archive.find("posts.csv"):
                yield hosted.substack(archive, wanted)
            elif archive.find("campaigns.csv"):
                yield hosted.mailchimp(archive, wanted)
            elif archive.find("emails.json") or archive.find("emails.csv"):
                yield hosted.buttondown(archive, wanted)
            elif only := _only_json(archive.names):
                yield _of_json(archive.read(only, MOST_JSON), wanted)
            else:
                raise Refused(UNKNOWN)
    elif start[:1] in (b"{", b"["):
        if path.stat().st_size > MOST_JSON:
            raise Refused(f"The JSON file has more than {MOST_JSON // MEGABYTE} MB.")
        yield _of_json(path.read_bytes(), wanted)
    elif b"--" in start or b"COPY " in start:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
            yield dumps.listmonk_dump(stream, wanted)
    else:
        raise Refused(UNKNOWN)


def _only_json(names: list[str]) -> str:
    found = [name for name in names if name.endswith(".json")]
    return found[0] if len(found) == 1 else ""


def _of_json(data: bytes, wanted: Wanted) -> Found:
    document = json_of(data)
    if dumps.is_ghost(document):
        return dumps.ghost(document, wanted)
    if dumps.is_listmonk(document):
        return dumps.listmonk_answer(document, wanted)
    rows = hosted.rows_of(document)
    if any("publish_date" in row and "subject" in row for row in rows):
        return hosted.buttondown_answer(document, wanted)
    raise Refused(UNKNOWN)
