"""The engine of questions: tasks, candidates, options, selection."""
