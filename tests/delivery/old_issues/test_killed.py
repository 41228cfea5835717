"""SIGKILL at any moment of `import_issues`, and a second run: the result is the same."""

import io
import random
import zipfile
from pathlib import Path
from typing import Any

from tests.examples import NIGHTLY
from tests.load.installation import sqlite_installation
from tests.site.migrate_from.acceptance import answers, wait_for_rows

pytestmark = NIGHTLY
ISSUES, KILLS = 400, 4
HEAD = "post_id,post_date,is_published,email_sent_at,type,audience,title\n"
ROW = "{0}.x,2021-03-05T09:00:00Z,true,2021-03-05T09:00:00Z,newsletter,everyone,Title {0}\n"
OUTCOME = (
    "SELECT i.title, i.published_at, n.position, n.entry, c.words FROM delivery_issue i JOIN"
    " delivery_issueitem n ON n.issue_id = i.id JOIN delivery_issuecard c ON c.issue_id = i.id ORDER BY 1",
    "SELECT count(*) FROM delivery_issue",
    "SELECT count(*) FROM delivery_delivery",
)
NEWSLETTER = "from subscriptions.models import Subscribable\nSubscribable.objects.create(name='pier')"


def test_the_next_run_ends_the_same(tmp_path: Path) -> None:
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w") as file:
        file.writestr("posts.csv", HEAD + "".join(map(ROW.format, range(ISSUES))))
        for number in range(ISSUES):
            file.writestr(f"posts/{number}.x.html", f"<p>Words of {number}.</p>" * 50)
    export = tmp_path / "export.zip"
    export.write_bytes(room.getvalue())
    command = ("manage.py", "import_issues", "pier", str(export))
    wanted, cut_off = list[Any](), 0
    for number in range(1 + KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        with sqlite_installation(folder) as here:
            here.script(NEWSLETTER)
            if number:
                killed = here.start(*command)
                wait_for_rows(folder, OUTCOME[0], random.randrange(ISSUES), killed)
                here.kill(killed)
                cut_off += answers(folder, OUTCOME) != wanted
            here.manage(*command[1:])
            wanted = wanted or answers(folder, OUTCOME)
            assert answers(folder, OUTCOME) == wanted
    assert len(wanted[0]) == ISSUES
    assert cut_off
