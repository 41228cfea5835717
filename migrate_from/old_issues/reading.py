"""Finding out which program wrote an export, and reading it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common.archives import Budget, pieces_of
from common.body_limits import MEGABYTE
from common.formats.pg_dump import refuse_unless_plain
from common.refused import Refused
from migrate_from.old_issues import dumps, hosted
from migrate_from.old_issues.found import MOST_JSON, MOST_TEXT, Archive, Found, Wanted, json_of, opened_zip
from migrate_from.old_issues.wordpress import NAMESPACE, wordpress

UNKNOWN = (
    "This isn’t an export with issues that we know. Use the zip file of Substack, Mailchimp or Buttondown,"
    " the JSON file of Ghost, the XML file of WordPress, the CSV file of beehiiv, or listmonk’s campaigns."
)
# Of a zip file.
MOST_TRIED = 1_000


@contextmanager
def opened_export(path: Path, wanted: Wanted) -> Iterator[Found]:
    """Yield the export's issues, whose texts can be read meanwhile. Raises Refused."""
    with path.open("rb") as file:
        start = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith(b"PK"):
        refuse_unless_plain(start)
    if start.startswith(b"PK"):
        with opened_zip(path) as archive:
            budget, heads = Budget(MOST_TEXT), _heads(archive)
            if names := [name for name, head in heads.items() if dumps.is_beehiiv(head)]:
                yield dumps.beehiiv((archive.pieces(name, budget) for name in names), wanted)
            elif names := [name for name, head in heads.items() if NAMESPACE in head]:
                yield wordpress(((f"“{name}”", archive.pieces(name, budget)) for name in names), wanted)
            elif archive.find("posts.csv"):
                yield hosted.substack(archive, wanted)
            elif archive.find("campaigns.csv"):
                yield hosted.mailchimp(archive, wanted)
            elif archive.find("emails.json") or archive.find("emails.csv"):
                yield hosted.buttondown(archive, wanted)
            elif len(names := [name for name in archive.names if name.endswith(".json")]) == 1:
                yield _of_json(archive.read(names[0], MOST_JSON), wanted)
            else:
                raise Refused(UNKNOWN)
    elif start[:1] in (b"{", b"["):
        if path.stat().st_size > MOST_JSON:
            raise Refused(f"The JSON file has more than {MOST_JSON // MEGABYTE} MB.")
        yield _of_json(path.read_bytes(), wanted)
    elif NAMESPACE in start or dumps.is_beehiiv(start):
        with path.open("rb") as file:
            pieces = pieces_of(file, Budget(MOST_TEXT, "The file has more than {} MB. Export it in parts."))
            is_table = dumps.is_beehiiv(start)
            yield dumps.beehiiv([pieces], wanted) if is_table else wordpress([("The file", pieces)], wanted)
    elif b"--" in start or b"COPY " in start:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
            yield dumps.listmonk_dump(stream, wanted)
    else:
        raise Refused(UNKNOWN)


def _heads(archive: Archive) -> dict[str, bytes]:
    """Return the beginnings of files that may be of beehiiv or WordPress, the nearest to the root first."""
    names = (name for name in archive.names if name.lower().endswith((".csv", ".xml")))
    nearest = sorted(names, key=lambda name: (name.count("/"), name))[:MOST_TRIED]
    return {name: next(archive.pieces(name, Budget(MOST_TEXT)), b"")[:4096] for name in nearest}


def _of_json(data: bytes, wanted: Wanted) -> Found:
    document = json_of(data)
    if dumps.is_ghost(document):
        return dumps.ghost(document, wanted)
    # Answers of GET /api/campaigns, or of Buttondown's API.
    rows = hosted.rows_of(document)
    if rows and all("subject" in row and "content_type" in row for row in rows):
        return dumps.listmonk(rows, wanted)
    if any("publish_date" in row and "subject" in row for row in rows):
        return hosted.buttondown_answer(rows, wanted)
    raise Refused(UNKNOWN)
