"""The tasks of UrbanVideo-Bench."""
