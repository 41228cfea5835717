"""Write docs/mail-services.md from the table of events: python -m tests.documentation.service_events."""

from pathlib import Path

from delivery.bounces.service_verdicts import VERDICTS, Verdict
from delivery.rules.bounce_policy import BounceKind

STAR = r"\*"
PAGE = Path(__file__).parents[2] / "docs" / "mail-services.md"
HEAD = """# Events of mail services

A mail service tells by its [webhook](sending.md#webhooks) what became of a letter. Each has names of its own
for that. This page lists them, and what Feedletter does. It is made from the program's own table.

| word | what follows |
|---|---|
| dead address | the address goes on the list *Do not email*, at once |
| not now | counted; several of them have [the same effect](sending.md#bounces) |
| our mail | recorded only: it is about us or the letter |
| complaint | the subscription ends, and the address goes on the list |
| leaves | that one subscription ends |
| tried again | recorded only: the service goes on trying |
| unclear | recorded only |
| nothing | ignored |

A star (\\*) means that the mail server's own words decide where they say something clear. For example, a
“hard bounce” with the words “mailbox full” is *not now*. A complaint that names its type counts only for
`abuse`, `fraud` and `opt-out`; `not-spam`, a letter that a reader took out of the spam folder, is ignored.

The words after an event are the service's reasons or types of it. An event that is not listed never counts
as a dead address, and the log names it once.
"""
_WORDS = {
    BounceKind.HARD: "dead address",
    BounceKind.SOFT: "not now",
    BounceKind.POLICY: "our mail",
    BounceKind.COMPLAINT: "complaint",
    BounceKind.DELAYED: "tried again",
    BounceKind.UNKNOWN: "unclear",
    BounceKind.AUTO_REPLY: "nothing",
}
_ORDER = (*dict.fromkeys(_WORDS.values()), "leaves")


def page() -> str:
    parts = [HEAD]
    for service, verdicts in sorted(VERDICTS.items()):
        # An event once for each effect, with all its reasons.
        rows: dict[str, dict[str, list[str]]] = {}
        for key, verdict in verdicts.items():
            event, _, reason = key.partition("/")
            star = STAR if verdict.by_words else ""
            rows.setdefault(_effect(verdict), {}).setdefault(event, []).append(f"{reason}{star}")
        lines = [f"| {effect} | {_names(rows[effect])} |" for effect in _ORDER if effect in rows]
        parts.append("\n".join([f"## {service}\n", "| what follows | events |", "|---|---|", *lines, ""]))
    return "\n".join(parts)


def _effect(verdict: Verdict) -> str:
    if verdict.leaves:
        return "leaves"
    return _WORDS[verdict.kind] if verdict.kind else "nothing"


def _names(events: dict[str, list[str]]) -> str:
    return "; ".join(
        f"`{event}`" + ("" if reasons[0] in ("", STAR) else " ") + ", ".join(reasons)
        for event, reasons in events.items()
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
