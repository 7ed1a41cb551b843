"""UrbanVideo-Bench: questions about drone flights."""
