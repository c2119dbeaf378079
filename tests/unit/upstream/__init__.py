"""Upstreams: what they say, what is locked, what is fetched."""
