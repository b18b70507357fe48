"""What goes over HTTP, as pydantic models: they check what comes in and describe what goes out."""
