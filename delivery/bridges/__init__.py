"""Set-up of bridges: connection, preview, test posts."""
