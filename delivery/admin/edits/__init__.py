"""Editing of the next issue and of drafts."""
