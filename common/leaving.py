"""Whether this process was told to end."""

import threading

leaving = threading.Event()
