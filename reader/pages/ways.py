"""Reading a newsletter here, for its page."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext

from common.ports.ways import Way

AFTER_RSS = 20


def reader_way(newsletter: Any) -> Iterator[Way]:
    """Offer to follow its feed. Visitors are asked to sign in first."""
    feed = f"{settings.SITE_URL}{reverse('delivery:feed', args=[newsletter.name])}"
    url = f"{reverse('reader:follow')}?{urlencode({'url': feed})}"
    sentence = gettext("If you read feeds on this site.")
    yield Way(icon="reader", title=gettext("Add to your reader"), sentence=sentence, url=url, rank=AFTER_RSS)
