"""Running builds: what a command asks for, worker processes, Prefect, schedules."""
