"""What all readers of raw data share: the protocol, files, folders, maps."""
