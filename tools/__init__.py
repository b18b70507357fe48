"""Tools for working on this repository. No wheel contains them."""
