"""Whether the DNS has a key's record by now."""

from django.conf import settings

from delivery.doctor.dkim import Publication, publication
from delivery.doctor.dns import Dns, NoResolver
from delivery.doctor.findings import Verdict
from delivery.models import DkimKey

# Somebody waits for a page.
SECONDS = 2.0


def look_up(key: DkimKey) -> Publication:
    """Asks the DNS (network), two seconds at most. Raises nothing but NetworkInTransaction."""
    try:
        dns = Dns(settings.DNS_SERVERS, seconds=SECONDS)
    except NoResolver as error:
        return Publication(Verdict.BETTER, str(error))
    return publication(key.record, key.algorithm, dns(key.record.name, "TXT"))
