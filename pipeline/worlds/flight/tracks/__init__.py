"""Flight logs as unified tracks."""
