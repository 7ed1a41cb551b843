"""The commands of scan2qa, one a file, and the options that they share."""
