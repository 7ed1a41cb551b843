"""What people need to label a scene folder: its boxes as they draw them, its surface, and the frames that show one."""
