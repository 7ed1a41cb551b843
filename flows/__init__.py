"""Flows and the command line: the only place that imports prefect, reads argv or the environment."""
