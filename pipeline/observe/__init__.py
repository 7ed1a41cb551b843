"""What the video of a scene shows."""
