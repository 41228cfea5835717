"""Tag of Feedletter's system checks. Django's load every module; only `check` and `up` run them."""

OWN_CHECKS = "feedletter"
