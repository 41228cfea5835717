"""Decides whether a refused connection means that a server accepts none, or fewer than we tried."""

import asyncio
import logging
from dataclasses import replace

from channels.base import AsyncSession, Temporary

log = logging.getLogger(__name__)

# The place of a session that has just closed may still count, so ask once more after some seconds.
AGAIN_AFTER = 1.0


class Admission:
    """The sessions of one lane, in one event loop."""

    def __init__(self) -> None:
        self._sessions: set[AsyncSession] = set()
        self._known: set[AsyncSession] = set()
        self._knocking = 0
        self._heard = asyncio.Condition()

    async def enter(self, session: AsyncSession) -> Temporary | None:
        """Connect the session. Return why not, with `crowded` set if another session is connected."""
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
        # All ask at once, so the answers to the others may be on their way.
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
        except Exception as error:  # a bug of ours must not lose what waits
            log.exception("connecting failed")
            text = f"Connecting failed in an unforeseen way ({type(error).__name__}: {error})."
            return Temporary(text, stops_lane=True)
        finally:
            self._knocking -= 1
            async with self._heard:
                self._heard.notify_all()
