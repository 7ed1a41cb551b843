"""Observation of the video of a scan."""
