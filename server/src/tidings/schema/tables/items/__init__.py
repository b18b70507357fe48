"""The kinds of items in the tables: keys, attributes and maximum sizes."""
