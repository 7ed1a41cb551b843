"""Drone flights."""
