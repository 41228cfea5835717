"""Whether a server that refuses a connection takes none of ours, or only fewer than we try."""

import asyncio
import logging
from dataclasses import replace

from delivery.channels.base import AsyncSession, Temporary

log = logging.getLogger(__name__)

# A session that was let in before may find its old place still taken: it asks once more, after seconds.
AGAIN_AFTER = 1.0


class Admission:
    """Of one lane's sessions, in one event loop."""

    def __init__(self) -> None:
        self._sessions: set[AsyncSession] = set()
        self._known: set[AsyncSession] = set()
        self._knocking = 0
        self._heard = asyncio.Condition()

    async def enter(self, session: AsyncSession) -> Temporary | None:
        """Connects it. What it returns is why not; `crowded` if another is connected, so that this one is
        only one too many."""
        self._sessions.add(session)
        refused = await self._knock(session)
        if refused is not None and session in self._known:
            await asyncio.sleep(AGAIN_AFTER)
            refused = await self._knock(session)
        if refused is None:
            self._known.add(session)
            return None
        return replace(refused, crowded=await self.has_other(session))

    async def has_other(self, session: AsyncSession) -> bool:
        """Whether another session is connected."""
        # They all ask at once: the answers to others may still be on their way.
        async with self._heard:
            await self._heard.wait_for(lambda: self._is_other_ready(session) or not self._knocking)
        return self._is_other_ready(session)

    def _is_other_ready(self, session: AsyncSession) -> bool:
        return any(other.is_ready for other in self._sessions if other is not session)

    def leave(self, session: AsyncSession) -> None:
        self._sessions.discard(session)
        self._known.discard(session)

    async def _knock(self, session: AsyncSession) -> Temporary | None:
        self._knocking += 1
        try:
            return await session.open()
        except Exception as error:  # a defect of ours: what waits must come back all the same
            log.exception("connecting failed")
            text = f"Connecting failed in an unforeseen way ({type(error).__name__}: {error})."
            return Temporary(text, stops_lane=True)
        finally:
            self._knocking -= 1
            async with self._heard:
                self._heard.notify_all()
