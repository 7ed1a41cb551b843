"""Procedural street panoramas with planted truth."""
