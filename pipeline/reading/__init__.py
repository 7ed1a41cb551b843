"""Shared parts of all readers of raw data: the protocol, files, folders, maps."""
