"""What everything else stands on: the schema, identity, errors, tables, wording."""
