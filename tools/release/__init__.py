"""Build a release: one version in every package, the changelog, packages, chart, SBOMs, provenance and signature."""
