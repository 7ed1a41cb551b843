"""The world of arms that reach, grasp and open."""
