"""SpamAssassin's own rules, without the network, over emails of all kinds."""

import os
import re
import subprocess
from typing import Any

import pytest

from channels.letter import Letter, Recipient
from delivery.rendering.facts import ThemeFacts
from delivery.rendering.issue import render_issue
from delivery.rendering.mail import MAILS_BY_TEMPLATE, render_mail
from tests.channels.email_letters import compose_mail
from tests.delivery.rendering.samples import NOW, SITE, entry, facts, one
from tests.delivery.rendering.test_mail import context_of
from tests.delivery.rendering.test_mail_programs import POST
from tests.examples import NIGHTLY
from tests.services import program

pytestmark = NIGHTLY
# Footnotes of 0.75em have 0.2.
HIGHEST = 0.1
FOOTNOTES = "<p>It rains on the river<sup>1</sup> and the lake<sup>2</sup>, H<sub>2</sub>O<sup>3</sup>.</p>"
TEXT = "<p>" + "It rains on the harbour again today, and the ferry stays at its pier. " * 8 + "</p>"
POSTS = {
    "short": "<p>It rains.</p>",
    "long": TEXT * 6,
    "everything": TEXT + POST,
    "footnotes": FOOTNOTES * 4 + TEXT,
    "picture": '<p><img src="https://blog.example/pier.jpg" alt="The pier"></p>' + TEXT,
    "only a link": "",
}
LOOKS: dict[str, dict[str, Any]] = {
    "serif": {},
    "bold": {"theme": ThemeFacts(style="bold", header="News of [both banks](https://valley.example/).")},
    "german": {"language": "de"},
}
ISSUES = {
    **{f"{post}, {look}": one(entry(content=POSTS[post]), **LOOKS[look]) for post in POSTS for look in LOOKS},
    **{
        f"digest of {content}": facts(
            *(entry(n, content=TEXT + FOOTNOTES) for n in range(12)), content=content
        )
        for content in ("full", "excerpt", "titles")
    },
}


def emails() -> dict[str, Letter]:
    found = {name: ("issue", render_issue(given)) for name, given in ISSUES.items()}
    found |= {name: ("alert", render_mail(name, context_of(name))) for name in MAILS_BY_TEMPLATE}
    return {
        name: Letter(
            kind=kind,
            newsletter="valley",
            newsletter_title="The Valley Weekly",
            title=rendered.title,
            subject=rendered.subject,
            html=rendered.html,
            text=rendered.text,
            token="t0ken",
            placeholders=rendered.placeholders,
            from_email="The Valley Weekly <letters@letters.example>",
            archive_url=f"{SITE}/s/valley/archive/",
        )
        for name, (kind, rendered) in found.items()
    }


def test_no_email_looks_like_spam() -> None:
    path = program("spamassassin")
    if path is None:
        missing = pytest.fail if os.environ.get("REQUIRE_SERVICES") == "1" else pytest.skip
        missing("Missing: spamassassin (Debian: spamassassin)")
    reader = Recipient(
        delivery_id=7,
        core="ada@example.net",
        label="ada@example.net",
        name="Ada Lovelace",
        config={"address": "ada@example.net"},
        unsubscribe_url=f"{SITE}/unsubscribe/abc123/",
        manage_url=f"{SITE}/manage/abc123/",
    )
    found = emails()
    assert len(found) >= 30
    for name, letter in found.items():
        message = compose_mail(letter, reader, site_host="letters.example").dated(NOW)
        checked = subprocess.run(
            [str(path), "-L", "-t"], input=message, capture_output=True, check=True, timeout=120
        )
        report = checked.stdout.decode("utf-8", "replace")
        score = re.search(r"^X-Spam-Status: \w+, score=(-?[\d.]+)", report, re.MULTILINE)
        assert score, report[:2000]
        assert float(score[1]) <= HIGHEST, f"{name}: {report.rpartition('Content analysis details')[2]}"
