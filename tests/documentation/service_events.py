"""Write docs/mail-services.md from the table of events: python -m tests.documentation.service_events."""

from pathlib import Path

from delivery.bounces.service_verdicts import VERDICTS, Verdict
from delivery.rules.bounce_policy import BounceKind

STAR = r"\*"
PAGE = Path(__file__).parents[2] / "docs" / "mail-services.md"
HEAD = """# Events of mail services

Mail services report by [webhook](sending.md#webhooks) what happened to an email, by different names.
This page lists them, and their effect in Feedletter. It is generated from the program's table.

| word | effect |
|---|---|
| dead address | the address is added to the *Do not email* list at once |
| not now | counted; several of them have [the same effect](sending.md#bounces) |
| our mail | recorded only: it's about us or the email |
| complaint | the subscription ends, and the address is added to the list |
| leaves | that one subscription ends |
| tried again | recorded only: the service is retrying |
| unclear | recorded only |
| nothing | ignored |

A star (\\*) means that the mail server's words decide if they're clear. For example, a “hard bounce” with the
words “mailbox full” is *not now*. A complaint that names its type counts only for `abuse`, `fraud` and
`opt-out`; `not-spam`, an email that somebody took out of the spam folder, is ignored.

The words after an event are the service's reasons or types of it. An event that isn't listed never counts
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
