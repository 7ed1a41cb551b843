"""Questions about drives, a file per capability or group of sub-capabilities."""
