"""Observation of a flight: its movements, landmarks and views."""
