"""Test the guarantees of an installation: generate load, record what every device receives, and check the record."""
