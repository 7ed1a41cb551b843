"""The foundation of all other packages: the schema, identity, errors, tables, wording."""
