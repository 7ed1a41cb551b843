"""Pure geometry: numpy in, numpy out. Metres, z up; angles in degrees."""
