"""Letters a second with a distant database, whose statements take a round trip."""

import json
import os
import subprocess
import sys

from bench import audience
from bench.far_database import far_away
from bench.smtp import sink
from delivery.models import Delivery

# Connections, milliseconds of round trip, letters.
CASES = ((100, 0.0, 20_000), (100, 10.0, 20_000), (10, 10.0, 8_000), (100, 50.0, 8_000))
WANTED = 2_000.0
LONG = 120.0


def distance() -> list[dict[str, object]]:
    most = max(count for _, _, count in CASES)
    results = []
    with sink() as port:
        for number, (connections, ms, count) in enumerate(CASES):
            audience.lane(connections=connections)
            newsletter = audience.newsletter(f"far{number}", readers=min(count, most))
            audience.publish_settled(audience.issue(newsletter, 1))
            rate = sent(port, ms, count)
            name = f"{ms:g} ms to the database, {connections} connections"
            results.append(
                {"figure": name, "rate": rate, "unit": "letters/s", "baseline": "wanted"}
                | {"baseline_rate": WANTED, "ratio": rate / WANTED}
            )
    return results


def sent(port: int, ms: float, count: int) -> float:
    with far_away(os.environ["DATABASE_URL"], ms) as url:
        command = [sys.executable, "-m", "bench.sender", str(LONG), str(port)]
        env = {**os.environ, "DATABASE_URL": url}
        done = subprocess.run(command, check=True, timeout=300, stdout=subprocess.PIPE, env=env)
    told = json.loads(done.stdout)
    assert told["sent"] == count, told
    assert not Delivery.objects.exclude(state="sent").exists()
    return float(told["sent"] / told["seconds"])
