"""Verbs on the whole cluster: getting ready to work on its hosts, bootstrap and reset, kubectl."""
