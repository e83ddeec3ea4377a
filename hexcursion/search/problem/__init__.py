"""What a search is asked: the public facts, the reference data as worlds to judge by, and the task."""
