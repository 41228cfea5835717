"""The whole move from rss2email by real processes, with kills: each thing arrives once."""

import random
import re
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from common.clock import utcnow
from tests.examples import NIGHTLY
from tests.servers.feed_server import FeedServer
from tests.servers.smtp_server import SmtpServer
from tests.site.migrate_from.acceptance import (
    ITEMS,
    ORIGINS,
    SEND,
    answers,
    installed,
    moved,
    moved_with_kills,
    not_said,
    said_in,
)
from tests.site.migrate_from.test_rss2email import folder, serve, site

__all__ = ["folder", "site"]
pytestmark = pytest.mark.slow
OUTCOME = (
    "SELECT url, status FROM feeds_feed ORDER BY 1",
    ITEMS,
    "SELECT n.name, n.arrangement, n.sending_paused_at IS NULL, x.core, s.status"
    " FROM subscriptions_subscription s JOIN subscriptions_subscribable n ON n.id = s.subscribable_id"
    " JOIN subscriptions_destination x ON x.id = s.destination_id ORDER BY 1, 4",
    ORIGINS,
)
TRAPS = (
    "reply-changes",
    "name-format",
    "127.0.0.1:8992",  # its mail server
)
ME, TEAM = "me@example.org", "team@example.org"


@NIGHTLY
def test_a_move_with_kills_sends_everything_once(site: FeedServer, folder: Path, tmp_path: Path) -> None:
    serve(site, "last")
    with ExitStack() as stack:
        smtp = stack.enter_context(SmtpServer())
        whole, killed = (
            installed(stack, tmp_path / name, EMAIL_URL=smtp.url) for name in ("whole", "killed")
        )
        command = ("migrate_from", "rss2email", str(folder))
        preview, facts = moved(whole, command)
        new = sorted(line["name"] for line in preview["lines"] if line["what"] == "new")
        assert new == ["Note 6", *["Post 6 & more"] * 4]
        assert not_said(facts, TRAPS) == []
        assert "password" not in said_in(facts)
        moved_with_kills(
            killed, command, OUTCOME, answers(whole.folder, OUTCOME), points=[random.randint(1, 5)]
        )
        killed.script(SEND.format(now=utcnow().isoformat(), days=3), timeout=300)
        emails = Counter(
            (each.recipient, re.findall(r"<([\w-]+)", str(each.email["List-Id"]))[0], each.subject)
            for each in smtp.messages
        )
        assert emails == {
            (ME, "bare", "Post 6 & more"): 1,
            (ME, "harbour", "Note 6"): 1,
            (ME, "river", "Post 6 & more"): 1,
            (ME, "river-links", "Post 6 & more"): 1,
            (TEAM, "with-ids", "Post 6 & more"): 1,
        }
