"""Instructions to be carried out (VLN): task specifications as data, and a scorer over trajectory logs."""
