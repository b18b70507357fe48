"""Long work in chunks: it survives the death of any worker, and can be paused, resumed and cancelled."""
