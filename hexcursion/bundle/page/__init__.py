"""The page for readers: a release's question, its three facts, its largest regions, and map.html."""
