"""Fake service that kills the process that posts to it."""

import os
import signal
from pathlib import Path

from tests.servers.api_server import ApiServer, Reply, Request


class Killer(ApiServer):
    """Mixin for a service: kill the first process that posts, after accepting the message.

    With `before`, kill it before accepting. `mark` is a file with that process's id. No client gets a
    response.
    """

    before = False
    mark: Path
    kills = 1

    def answer(self, request: Request) -> Reply:
        if not self.posts(request) or not self.kills:
            return super().answer(request)
        self.kills -= 1
        if not self.before:
            super().answer(request)
        os.kill(int(self.mark.read_text()), signal.SIGKILL)
        return Reply(hangs_up=True)
