"""The output of commands: tables, progress, messages."""
