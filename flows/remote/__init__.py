"""Builds and raw data beyond this machine: clusters and object stores."""
