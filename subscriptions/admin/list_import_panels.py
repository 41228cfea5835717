from datetime import datetime, timedelta

from django.urls import reverse

from common.admin.html import ago, when
from common.admin.uploads import CUT_OFF, size_of, words_about_worker, work_progress
from common.clock import utcnow
from common.parts import Facts, Link, Part, Table, Text
from common.text import pluralize, shortened
from subscriptions.lists.importer import lost_dates_words, unused_words
from subscriptions.lists.reading import not_used
from subscriptions.lists.undo import undone_words
from subscriptions.lists.uploads import State, harm_of, survey_kept, terms_of
from subscriptions.models import ListImport
from subscriptions.rules.lists.headings import Heading, NoList, heading
from subscriptions.rules.lists.rows import OUTCOMES, summary

REFUSED_LINES_SHOWN, LONGEST_LINE_SHOWN = 20, 120
WOULD = {"add": "new", "update": "changed", "nothing": "as before"}
GETS_NOTHING_WORDS = {
    "unconfirmed": "Not confirmed: gets nothing until they confirm",
    "unsubscribed": "Unsubscribed: gets nothing",
    "suppressed": "Must not be emailed: gets nothing",
    "repeated": "Duplicate: counted once",
}
_UPPER_LIMITS = {
    "": "what the file says; otherwise not confirmed",
    "confirmed": "confirmed, unless the file says otherwise",
}
LIMITED = "This newsletter only: no tags, nobody on the Do not email list"
UNCHANGED = "Nothing has changed yet. Importing doesn’t send any email."


def how_far(row: ListImport) -> Part:
    """Polled by the page while a worker is busy."""
    percent = min(100 * row.position // row.size, 100) if row.size else 0
    return work_progress(
        row,
        percent=percent,
        lines="" if row.state == State.ASKING else pluralize(row.lines, "row"),
        words="\n".join(
            filter(None, (words_about_unread(row), outcome_of(row), sentence_about_state(row, utcnow())))
        ),
        facts=counts(row) if row.lines and not outcome_of(row) else Facts(),
    )


def outcome_of(row: ListImport) -> str:
    outcomes = (row.findings or {}).get("outcomes")
    if row.state not in (State.CHECKED, State.DONE) or not outcomes:
        return ""
    counts = {**outcomes, "repeated": row.repeated}
    return f"{summary(counts, is_done=row.state == State.DONE)}."


def words_about_unread(row: ListImport) -> str:
    if row.state not in (State.CHECKED, State.DONE):
        return ""
    findings, unused = row.findings or {}, not_used(row.names, understood(row), survey_kept(row))
    sentences = [*unused_words(unused), lost_dates_words(findings.get("lost_dates", 0)), warning_of(row)]
    return " ".join(filter(None, sentences))


def warning_of(row: ListImport) -> str:
    """Return a warning before an import that would harm most of a list."""
    return harm_of(row) and f"{harm_of(row)} If this is right, choose More, Import anyway."


def sentence_about_state(row: ListImport, now: datetime) -> str:
    if row.state in row.OPEN:
        return words_about_worker(row, now) or pace(row, now)
    sentences = {
        State.UPLOADING: CUT_OFF,
        State.CHECKED: UNCHANGED,
        State.ASKING: question_about_columns(row),
        State.STOPPED: "Discarded. The file is deleted.",
        State.DONE: "No email was sent.",
        State.UNDONE: undone_words((row.findings or {}).get("undone", {})),
    }
    return sentences.get(State(row.state), "")


def question_about_columns(row: ListImport) -> str:
    findings = row.findings or {}
    if name := findings.get("addresses"):
        return (
            f"No column is called “email”, but “{shortened(name, 40)}” has only addresses. Use"
            f" “Change columns” above to say what the columns mean. {UNCHANGED}"
        )
    if "encodings" in findings:
        return f"Some names aren’t in UTF-8. Say below how they are right. {UNCHANGED}"
    return f"Some columns may mark people who must not be emailed. Say below what they mean. {UNCHANGED}"


def understood(row: ListImport) -> Heading:
    try:
        terms = terms_of(row)
        return heading(row.names, terms.meanings, survey_kept(row), terms.statuses)
    except NoList:
        return Heading(())


def pace(row: ListImport, now: datetime) -> str:
    """Return "" in the first seconds."""
    seconds = (now - row.reading_since).total_seconds() if row.reading_since else 0
    if seconds < 3 or not row.position:
        return ""
    left = timedelta(seconds=seconds * (row.size - row.position) / row.position)
    return f"{row.lines / seconds:,.0f} rows a second, about {ago(left)} left."


def counts(row: ListImport) -> Facts:
    is_done = row.state in (State.IMPORTING, State.DONE) or row.begun_at is not None
    return Facts(
        ("Added" if is_done else "To be added", row.added),
        ("Updated" if is_done else "To be updated", row.updated or None),
        ("Unchanged", row.unchanged or None),
        ("Duplicates", row.repeated or None),
        ("Refused", row.refused),
    )


def about_import(row: ListImport) -> Part:
    # Until then a panel shows the columns.
    used, unused = columns(row) if row.names and row.state not in row.WAITING else ([], [])
    return Facts(
        ("Newsletter", Link(row.subscribable)),
        ("Looks like an export of", row.program),
        ("Columns used", ", ".join(used)),
        ("Columns not used", ", ".join(unused)),
        ("Note", understood(row).program.note),
        ("People in the file", _UPPER_LIMITS.get(row.status, f"at most {row.status}")),
        ("Changes", LIMITED if row.is_limited else ""),
        ("How they agreed", row.words or "Not given. If the file says it, that is kept."),
        ("Size", size_of(row)),
        ("Uploaded", f"{when(row.created_at)}{f' by {row.by}' if row.by else ''}"),
        ("Begun", when(row.begun_at, "")),
        ("Ended", when(row.ended_at, "")),
    )


def columns(row: ListImport) -> tuple[list[str], list[str]]:
    known = understood(row)
    places = {place for _, place in (*known.places, *known.blocks)}
    named = [(place, shortened(name, 40) or "(without a name)") for place, name in enumerate(row.names)]
    taken = [name for place, name in named if place in places]
    return taken, [name for place, name in named if place not in places]


def sample(row: ListImport) -> Part:
    if row.state != State.CHECKED or not row.sample:
        return ""
    kinds = list(OUTCOMES)
    rows = sorted(row.sample, key=lambda each: kinds.index(each[2]) if each[2] in kinds else len(kinds))
    shown = [(label, name, what_happens(kind, what)) for label, name, kind, what in rows]
    more = row.lines - len(shown)
    table = Table(("address", "name", "what happens"), shown)
    return (table, f"and {pluralize(more, 'more row')}" if more > 0 else "")


def what_happens(kind: str, what: str) -> str:
    """`what`: a RowChange, or the reason of a refusal."""
    if kind == "gets":
        return f"Will get the newsletter ({WOULD.get(what, what)})"
    if kind in GETS_NOTHING_WORDS and (what in WOULD or not what):
        return GETS_NOTHING_WORDS[kind]
    return f"Not imported: {what}"


def refused_lines_panel(row: ListImport) -> Part:
    lines = row.refused_lines.order_by("line")[:REFUSED_LINES_SHOWN]
    shown = [
        (f"{each.line:,}", shortened(", ".join(filter(None, each.cells)), LONGEST_LINE_SHOWN), each.reason)
        for each in lines
    ]
    if not shown:
        return ""
    url = reverse("admin:subscriptions_listimport_refused", args=[row.pk])
    link = Link(url, f"Download all {row.refused:,} as CSV")
    sentence = Text((link, ", fix them there, and import that file."))
    return (Table(("row", "content", "why"), shown), sentence)
