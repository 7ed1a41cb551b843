"""scan2qa: flows and the command line, the only place that imports prefect, reads argv or the environment."""
