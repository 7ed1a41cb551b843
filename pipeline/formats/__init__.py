"""File formats as arrays, without meaning."""
