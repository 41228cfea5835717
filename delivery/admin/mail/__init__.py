"""Mail accounts in the admin: the page that sets mail up, and a page for each account."""

from delivery.admin.mail.account import AccountAdmin
from delivery.admin.mail.set_up import mail_set_up

__all__ = ["AccountAdmin", "mail_set_up"]
