import gc
import sys

from feedletter_site.celery import app as celery_app
from feedletter_site.errors import tell_in_a_sentence

__all__ = ["celery_app"]

# Only feeds.polling.page_child needs it. requests would load it into every process (2 MB).
sys.modules.setdefault("chardet", None)  # type: ignore[arg-type]

# Python would look through the modules, which stay, for garbage again and again while they load.
gc.set_threshold(50_000)

tell_in_a_sentence()
