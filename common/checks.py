"""The tag of the program's own system checks, which look at the settings.

Django's look at the code, load every page for it, and take longer than most commands: `check` and `up` run
them all, the other commands and the workers only these.
"""

OWN_CHECKS = "feedletter"
