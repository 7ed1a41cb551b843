"""Where to take or fetch panoramas: roads of cities, scored and spread (ERGeoBench, section 4.2)."""
