"""Adapters of search: tantivy in a directory of this machine, and OpenSearch."""
