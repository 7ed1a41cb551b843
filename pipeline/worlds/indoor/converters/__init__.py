"""scan2qa: converters of captures and annotations into neutral scene folders."""
