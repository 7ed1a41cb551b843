"""What the video of a scan shows."""
