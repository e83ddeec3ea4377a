"""Public features of a domain: what a record contributes to released sums, and the facts that price
it."""
