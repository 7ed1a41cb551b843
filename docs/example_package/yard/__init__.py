"""A reader, a log format and a benchmark for scan2qa."""
