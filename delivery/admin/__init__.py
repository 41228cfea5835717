"""Admin of issues, deliveries, lanes and keys. Each module registers its pages."""

from delivery.admin import delivery, dkim, issue, lane, old_issues, restoring, service_account  # noqa: F401
from delivery.admin.broadcasts import letter  # noqa: F401
from delivery.admin.letter_templates import template  # noqa: F401
from delivery.admin.mail import account  # noqa: F401
from delivery.admin.webhooks import webhook  # noqa: F401
