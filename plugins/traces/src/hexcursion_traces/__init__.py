"""Location traces from file to file: settings, secrets, plan, charge, draw, statement."""
