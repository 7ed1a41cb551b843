"""The world of panoramas: street views in all directions from one place."""
