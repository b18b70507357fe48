"""The kinds of items that stand in the tables: keys, attributes and how large they may become."""
