"""Map files as features with a place."""
