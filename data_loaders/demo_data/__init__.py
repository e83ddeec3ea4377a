"""Generated data of an invented city, in the real file formats, with the truth beside it."""
