"""DKIM (RFC 6376, 8301, 8463): keys, their DNS records, signatures. Pure: no Django."""
