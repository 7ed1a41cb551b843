"""A release: Parquet splits, dataset card, terms, checksums; its history, and its comparison with others."""
