"""Admin of mail accounts, and the email set-up page."""

from delivery.admin.mail.account import AccountAdmin, mail_set_up

__all__ = ["AccountAdmin", "mail_set_up"]
