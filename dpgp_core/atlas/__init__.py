"""An atlas: several columns of the same records, released together under one promise."""
