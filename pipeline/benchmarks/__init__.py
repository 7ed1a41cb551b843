"""The benchmarks: each a set of tasks over one or more worlds."""
