"""Requests wait shortly for a slot."""

from threading import Barrier, Thread

import pytest

from common.net import web_slots
from common.net.web_slots import SLOTS, ServerBusy, take_slot, web_request


def test_requests_wait_for_a_slot_that_is_soon_free_and_are_refused_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    barrier = Barrier(SLOTS + 1)

    def look() -> None:
        with web_request():
            take_slot()
            barrier.wait(10)
            barrier.wait(10)

    threads = [Thread(target=look) for _ in range(SLOTS)]
    for thread in threads:
        thread.start()
    barrier.wait(10)
    monkeypatch.setattr(web_slots, "WAITED_SECONDS", 0.01)
    with web_request(), pytest.raises(ServerBusy):
        take_slot()
    monkeypatch.setattr(web_slots, "WAITED_SECONDS", 10)
    # They end while this one waits.
    Thread(target=barrier.wait, args=(10,)).start()
    with web_request():
        take_slot()
    for thread in threads:
        thread.join(10)
