"""A toy benchmark of two tasks over indoor scans."""
