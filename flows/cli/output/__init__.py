"""What commands print: tables, progress, messages."""
