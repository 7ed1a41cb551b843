"""Logs of driving: the car itself, all that moves around it, and the road."""
