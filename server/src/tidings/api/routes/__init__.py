"""One file per subject: which address calls which use case, and what it says about itself."""
