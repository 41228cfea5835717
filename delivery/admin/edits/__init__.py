"""The next issue and drafts in an editor's hands: their panels, and what their buttons do."""
