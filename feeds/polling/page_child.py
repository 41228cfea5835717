"""Extracts the text of an untrusted page in a child process without secrets. Uses no Django."""

import resource
import socket
from contextlib import closing

from common.child_process import Child, framed, messages, set_limits

MEMORY = 768 * 1024 * 1024
CPU_SECONDS = 10
# Wall clock: machines may be busy.
SECONDS = 20.0
MOST_ANSWER = 1_000_000


def extracted(html: str) -> str:
    """Return the html of its text, or "" if there is none or it takes too long."""
    try:
        with closing(Child("feeds.polling.page_child")) as child:
            answer = next(child.ask(html.encode("utf-8", "replace"), seconds=SECONDS, most=MOST_ANSWER))
    except (StopIteration, OSError):
        return ""
    return answer.decode("utf-8", "replace")


def serve(line: socket.socket) -> None:
    """Answer one job. Any failure ends the process without an answer."""
    page = next(messages(line)).decode()
    from readability import Document

    set_limits({resource.RLIMIT_AS: MEMORY, resource.RLIMIT_CPU: CPU_SECONDS, resource.RLIMIT_FSIZE: 0})
    line.sendall(framed(Document(page).summary(html_partial=True).encode("utf-8", "replace")))
