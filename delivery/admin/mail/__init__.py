"""Admin of mail accounts, and the email set-up page."""
