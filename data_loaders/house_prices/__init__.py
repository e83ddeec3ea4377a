"""Sales of houses in England and Wales: where the public files are, their formats, filters and
postcodes."""
