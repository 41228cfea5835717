"""Bridges as admins set them up: connecting, looking at what would be posted, trying it."""
