"""What runs on what: tables with their sources in data/, and what they mean for a host."""
