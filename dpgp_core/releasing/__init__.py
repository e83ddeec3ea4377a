"""A release: the public facts a mechanism may know, what it releases, and the place where it is drawn."""
