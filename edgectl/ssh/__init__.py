"""SSH as its user has set it up: connections to all hosts at once, host keys, passwords, the probe."""
