import gc
import os

from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedletter_site.settings")

application = get_wsgi_application()

from feedletter_site.monitoring.vitals import VITALS, after_request  # noqa: E402 - models come with the application

VITALS.begin()
request_finished.connect(after_request)
# Otherwise garbage collection took 1/14 of the time of a sign-up.
gc.collect()
gc.freeze()


def with_stages() -> WSGIHandler:
    """Also do a worker's work, in threads of this process (PROCESSES=1)."""
    from feedletter_site.ticks.bootsteps import work_here

    work_here()
    return application
