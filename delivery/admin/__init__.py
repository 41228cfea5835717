"""Admin of issues, deliveries, lanes and keys. Each module registers its pages."""

from delivery.admin import delivery, dkim, issue, lane, old_issues, restoring, service_account
from delivery.admin.broadcasts import letter
from delivery.admin.letter_templates import template
from delivery.admin.mail import account
from delivery.admin.webhooks import webhook
