"""Whether letters arrive: what the DNS, the mail server and the site say, and what to change."""
