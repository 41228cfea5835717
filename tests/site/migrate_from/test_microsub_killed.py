"""SIGKILL at any moment of an import into the reader, and a second run: the result is the same."""

import json
import random
from pathlib import Path
from typing import Any

from tests.examples import NIGHTLY
from tests.load.installation import sqlite_installation
from tests.site.migrate_from.acceptance import answers, wait_for_rows

pytestmark = NIGHTLY
NEEDS_APP = "reader"
CHANNELS, FEEDS, POSTS, KILLS = 4, 12, 150, 6
ME = "https://ada.example/"
PLACES = "SELECT id FROM reader_timelineentry"
OUTCOME = (
    "SELECT c.name, c.uid, f.url, f.status, f.read_by FROM reader_follow w"
    " JOIN reader_channel c ON c.id = w.channel_id JOIN feeds_feed f ON f.id = w.feed_id ORDER BY 1, 3",
    "SELECT c.name, e.text, p.at, p.hidden, p.was_unread, u.at FROM reader_timelineentry p"
    " JOIN reader_channel c ON c.id = p.channel_id JOIN reader_entry e ON e.id = p.entry_id"
    " LEFT JOIN reader_unread u ON u.place_id = p.id ORDER BY 1, 2, 3",
    "SELECT f.url, i.guid FROM feeds_item i JOIN feeds_feed f ON f.id = i.feed_id ORDER BY 1, 2",
    "SELECT count(*), count(jf2) FROM reader_entry",
    "SELECT source FROM reader_mention ORDER BY 1",
    "SELECT url, is_block FROM reader_mute ORDER BY 1",
    "SELECT count(*), count(finished_at) FROM feedletter_site_origin",
)


def key(number: int) -> dict[str, str]:
    return {"$oid": f"6920e000{number:016x}"}


def write(folder: Path) -> Path:
    folder.mkdir()
    collections: dict[str, list[dict[str, Any]]] = {
        "channels": [
            {"_id": key(one), "uid": f"c{one}", "name": f"Channel {one}", "userId": ME, "order": one}
            for one in range(CHANNELS)
        ],
        "feeds": [
            {"_id": key(100 + one), "channelId": key(one % CHANNELS), "url": f"https://f{one}.example/feed"}
            for one in range(FEEDS)
        ],
        "items": [
            {
                "_id": key(1_000 + one),
                "channelId": key(one % FEEDS % CHANNELS),
                "feedId": key(100 + one % FEEDS),
                "uid": f"{one:024x}",
                "url": f"https://f{one % FEEDS}.example/{one}",
                "name": f"Post {one}",
                "content": {"html": f"<p>Words of {one}.</p>"},
                "source": {"originalId": f"tag:{one}", "feedUrl": f"https://f{one % FEEDS}.example/feed"},
                "readBy": [ME] if one % 3 else [],
                "createdAt": {"$date": f"2026-10-{1 + one % 28:02}T09:{one % 60:02}:00Z"},
            }
            for one in range(FEEDS * POSTS)
        ],
        "notifications": [
            {"_id": key(5_000 + one), "source": f"https://bob.example/{one}", "target": ME, "type": "like"}
            for one in range(20)
        ],
        "muted": [{"_id": key(6_000), "userId": ME, "url": "https://f1.example/feed"}],
    }
    for name, rows in collections.items():
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / f"microsub_{name}.json").write_text(text)
    return folder


def test_the_next_run_ends_the_same(tmp_path: Path) -> None:
    export = write(tmp_path / "export")
    command = ("manage.py", "migrate_from", "microsub", str(export), "--reader", "ada")
    wanted, cut_off = list[Any](), 0
    for number in range(1 + KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        with sqlite_installation(folder) as here:
            here.manage("add_reader", "ada")
            if number:
                killed = here.start(*command)
                wait_for_rows(folder, PLACES, random.randrange(FEEDS * POSTS), killed)
                here.kill(killed)
                cut_off += answers(folder, OUTCOME) != wanted
            here.manage(*command[1:])
            wanted = wanted or answers(folder, OUTCOME)
            for query, rows, expected in zip(OUTCOME, answers(folder, OUTCOME), wanted, strict=True):
                assert [row for row in rows if row not in expected] == [], query
                assert len(rows) == len(expected), query
    assert len(wanted[0]) == FEEDS
    assert cut_off
