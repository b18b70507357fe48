"""Build the documentation site: stage the pages, run MkDocs, check the links."""
