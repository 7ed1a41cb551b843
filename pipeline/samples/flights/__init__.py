"""Small simulated drone flights through a procedural city, in the folder layout of users' flights."""
