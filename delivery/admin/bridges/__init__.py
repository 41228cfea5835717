"""Admin of bridges: adding, testing and recent posts."""
