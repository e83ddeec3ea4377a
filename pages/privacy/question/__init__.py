"""The question: which side of which threshold, for whom protected and how strongly, in what unit."""
