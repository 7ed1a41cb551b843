"""ERGeoBench: where a panorama was taken, and what can be seen from there."""
