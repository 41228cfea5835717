"""The queues of a day on larger hardware, simulated from measured costs: `python -m bench.capacity`."""

from dataclasses import dataclass
from itertools import product

MILLION = 1_000_000
# Processor seconds a letter, as measured (docs/performance.md): in the database when queued and when sent,
# in a send worker with its child process, and for an RSA-2048 signature.
QUEUE, RECORD, SEND, SIGN = 23e-6, 45e-6, 125e-6, 300e-6
# Bytes a letter: of write-ahead log, and of the ledger with its indexes.
LOGGED, KEPT = 3600, 700
# Shares of a day's letters by hour: most newsletters appear in the morning, half of them on the hour.
HOURS = (1, 1, 1, 1, 2, 6, 14, 22, 14, 7, 4, 4, 4, 3, 3, 3, 3, 2, 2, 1, 1, 1, 0, 0)
ON_THE_HOUR = 0.5
# Cores of the database should keep this much for pages, feeds and vacuum.
FREE = 0.3


@dataclass(frozen=True, slots=True)
class Hardware:
    """`hosts` with two cores each run send workers; without any, they share the database's cores."""

    name: str
    database_cores: int
    hosts: int


@dataclass(frozen=True, slots=True)
class Day:
    """Most letters that wait, longest minutes from publishing to the last letter, busiest minute (0 to 1)."""

    waiting: float
    minutes: int
    busiest: float


HARDWARE = (
    Hardware("one machine, 2 cores", 2, 0),
    Hardware("one machine, 4 cores", 4, 0),
    Hardware("database of 4 cores, 2 send hosts", 4, 2),
    Hardware("database of 8 cores, 6 send hosts", 8, 6),
    Hardware("database of 16 cores, 16 send hosts", 16, 16),
)


def published(letters: float, minute: int) -> float:
    """Return how many letters are published in a minute of the day."""
    hour = letters * HOURS[minute // 60 % 24] / sum(HOURS)
    return hour * (ON_THE_HOUR if minute % 60 == 0 else (1 - ON_THE_HOUR) / 59)


def simulate(letters: float, hardware: Hardware, *, signed: bool = True) -> Day:
    """Run two days through the queues, minute by minute; the first fills them."""
    send = SEND + (SIGN if signed else 0)
    queued = due = most = busiest = 0.0
    oldest: list[tuple[int, float]] = []
    longest = 0
    for minute in range(2 * 24 * 60):
        came = published(letters, minute)
        oldest.append((minute, came))
        queued += came
        database = hardware.database_cores * 60 * (1 - FREE)
        published_now = min(queued, database / QUEUE)
        queued -= published_now
        due += published_now
        left = database - published_now * QUEUE
        if hardware.hosts:
            sent = min(due, left / RECORD, hardware.hosts * 2 * 60 / send)
        else:
            sent = min(due, left / (RECORD + send))
        due -= sent
        used = published_now * QUEUE + sent * (RECORD if hardware.hosts else RECORD + send)
        busiest, most = max(busiest, used / (hardware.database_cores * 60)), max(most, queued + due)
        while oldest and sent >= oldest[0][1] - 1:
            sent = max(sent - oldest.pop(0)[1], 0)
        if oldest:
            oldest[0] = oldest[0][0], oldest[0][1] - sent
            longest = max(longest, minute - oldest[0][0])
    return Day(most, longest, busiest)


def main() -> None:
    print(f"{'letters a day':>13}  {'hardware':<38} {'most wait':>10} {'minutes':>8} {'database':>9}")
    for letters, hardware in product((MILLION, 10 * MILLION, 100 * MILLION), HARDWARE):
        day = simulate(letters, hardware)
        waiting = f"{day.waiting / MILLION:.2f} M"
        late = f"{day.minutes}" if day.minutes < 24 * 60 else "never"
        print(f"{letters:>13,}  {hardware.name:<38} {waiting:>10} {late:>8} {day.busiest:>8.0%}")
    gigabytes = 100 * MILLION / 1e9
    print(f"100 M letters: {gigabytes * LOGGED:.0f} GB of log, {gigabytes * KEPT:.0f} GB of ledger a day")


if __name__ == "__main__":
    main()
