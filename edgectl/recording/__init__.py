"""Recordings of hosts: the files and outputs behind a probe's document, redacted, in one file to read and replay."""
