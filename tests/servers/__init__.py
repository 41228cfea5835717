"""Fake servers on loopback, for tests that use real sockets."""
