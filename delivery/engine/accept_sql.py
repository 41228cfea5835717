"""The one statement that records acceptances, for both processes: it knows no Django."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from common.db.arrays import array_literal
from common.text import without_controls

LONGEST_REMOTE_ID = 255
# So many parameters however many rows: a statement that grows with them would be parsed anew every time.
_ROWS = {
    "postgresql": "SELECT * FROM unnest(%s::bigint[], %s::uuid[], %s::timestamptz[], %s::text[], %s::text[])"
    " AS given (id, token, at, remote_id, state)",
    "sqlite": "SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS token, "
    "json_extract(value, '$[2]') AS at, json_extract(value, '$[3]') AS remote_id, "
    "json_extract(value, '$[4]') AS state FROM json_each(%s)",
}
# Without WITH: SQLite's driver counts the rows only of a statement that begins with UPDATE.
_UPDATE = """
UPDATE delivery_delivery AS delivery SET
    state = accepted.state, sent_at = accepted.at, remote_id = accepted.remote_id,
    last_error = '', begun_at = NULL, attempts = attempts + 1, lease_token = NULL, lease_until = NULL
FROM ({rows}) AS accepted
WHERE delivery.id = accepted.id AND delivery.lease_token = accepted.token
"""
# The key of an issue that was paused or cancelled.
_STOPPED = """
SELECT issue.id FROM delivery_issue AS issue
JOIN subscriptions_subscribable AS newsletter ON newsletter.id = issue.subscribable_id
WHERE issue.id = {issue} AND (
    issue.paused_at IS NOT NULL OR issue.cancelled_at IS NOT NULL
    OR newsletter.sending_paused_at IS NOT NULL
)
"""


class AcceptedRow(NamedTuple):
    """A delivery's key, the lease's token in hexadecimal, when it was accepted as the database writes it,
    what the server called it, and the state that it has from then on."""

    id: int
    token: str
    at: str
    remote_id: str
    state: str


# By the database's vendor: changes those whose lease is still ours.
STATEMENTS = {vendor: _UPDATE.format(rows=rows) for vendor, rows in _ROWS.items()}
# The same: how many were ours, and the keys of their issues that are stopped. One look for each issue takes
# 0.2 ms for fifty rows, of 0.9. SQLite knows RETURNING since 3.35 only.
_ACCEPT_OURS = STATEMENTS["postgresql"] + "RETURNING issue_id"
ACCEPT_AND_LOOK = f"""
WITH accepted_now AS ({_ACCEPT_OURS})
SELECT (SELECT count(*) FROM accepted_now), ARRAY(
    SELECT stopped.id FROM (SELECT DISTINCT issue_id FROM accepted_now) AS theirs,
    LATERAL ({_STOPPED.format(issue="theirs.issue_id")}) AS stopped
)
"""  # noqa: S608 - of constants alone
STOPPED_ISSUE = _STOPPED.format(issue="%s")


def parameters(vendor: str, rows: Sequence[AcceptedRow]) -> list[str]:
    """What stands in the statement's places. Needs a row at least."""
    if vendor == "postgresql":
        return [array_literal(column) for column in zip(*rows, strict=True)]
    return [json.dumps(rows)]


def remote_id_of(said: Any) -> str:
    """What is kept of a server's own name for a message."""
    return without_controls(said)[:LONGEST_REMOTE_ID]
