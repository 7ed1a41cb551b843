"""The standardised video of a scene."""
