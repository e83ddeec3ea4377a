"""The outline that a person gives: read, put right, and bounded in what work it may cause."""
