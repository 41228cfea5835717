"""A fake service that kills the process which posts to it."""

import os
import signal
from pathlib import Path

from tests.servers.api_server import ApiServer, Reply, Request


class Killer(ApiServer):
    """To be mixed into a service: it kills the first that posts, `before` the message is taken or after it.

    `mark` holds the number of that process. Nobody gets an answer.
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
