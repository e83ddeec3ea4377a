"""The leaderboard: mechanisms of equal protection and budget on the same maps, and rivals of another kind."""
