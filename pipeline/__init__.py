"""scan2qa: 3D scans and drone flights in, spatial question-answering benchmarks out."""
