"""The whole move from Indiekit by real processes, with kills: each post once, unread as before."""

import random
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.examples import NIGHTLY
from tests.servers.feed_server import FeedServer
from tests.site.migrate_from.acceptance import (
    ITEMS,
    ORIGINS,
    answers,
    installed,
    moved,
    moved_with_kills,
    not_said,
)
from tests.site.migrate_from.test_microsub import TRAPS, folder, site

__all__ = ["folder", "site"]
NEEDS_APP = "reader"
pytestmark = pytest.mark.slow
OUTCOME = (
    "SELECT c.name, e.text, p.at, p.hidden, p.was_unread, u.at FROM reader_timelineentry p"
    " JOIN reader_channel c ON c.id = p.channel_id JOIN reader_entry e ON e.id = p.entry_id"
    " LEFT JOIN reader_unread u ON u.place_id = p.id ORDER BY 1, 2, 3",
    "SELECT c.name, c.uid, f.title, f.status, f.read_by FROM reader_follow w"
    " JOIN reader_channel c ON c.id = w.channel_id JOIN feeds_feed f ON f.id = w.feed_id ORDER BY 1, 3",
    ITEMS,
    "SELECT source FROM reader_mention ORDER BY 1",
    "SELECT url, is_block FROM reader_mute ORDER BY 1, 2",
    ORIGINS,
)
READ = """
from feeds.polling.poll import poll_due
from reader.entries.place import place_due
for turn in range(2):
    poll_due()
    place_due()
"""
SHOWN = (
    "SELECT c.name, json_extract(e.jf2, '$.name'), json_extract(e.jf2, '$.url'), u.place_id IS NOT NULL FROM"
    " reader_timelineentry p JOIN reader_channel c ON c.id = p.channel_id JOIN reader_entry e ON e.id ="
    " p.entry_id LEFT JOIN reader_unread u ON u.place_id = p.id WHERE p.hidden = 0 ORDER BY 1, 2"
)


@NIGHTLY
def test_a_move_with_kills_shows_each_post_once(site: FeedServer, folder: Path, tmp_path: Path) -> None:
    with ExitStack() as stack:
        whole, killed = (installed(stack, tmp_path / name) for name in ("whole", "killed"))
        for each in (whole, killed):
            each.manage("add_reader", "ada")
        command = ("migrate_from", "microsub", str(folder), "--reader", "ada")
        preview, facts = moved(whole, command)
        assert [line["name"] for line in preview["lines"] if line["what"] == "new"] == ["Post 16"]
        assert not_said(facts, TRAPS) == []
        assert "hidden-word" not in str(facts)
        moved_with_kills(
            killed, command, OUTCOME, answers(whole.folder, OUTCOME), points=[random.randint(1, 8)]
        )
        (before,) = answers(killed.folder, [SHOWN])
        killed.script(READ)
        (after,) = answers(killed.folder, [SHOWN])
        assert set(before) <= set(after)
        assert set(Counter((channel, name, url) for channel, name, url, _unread in after).values()) == {1}
        added = [
            (name, unread)
            for _channel, name, _url, unread in after
            if (_channel, name, _url, unread) not in before
        ]
        assert sorted(added) == [("Post 04", 0), ("Post 16", 1)]
        assert answers(killed.folder, ["SELECT id FROM delivery_delivery"]) == [[]]
