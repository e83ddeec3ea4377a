"""CPU time of the parts and of the main job, beside plain ways and other people's programs."""
