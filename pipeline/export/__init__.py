"""Writes a release: Parquet splits, dataset card, checksums."""
