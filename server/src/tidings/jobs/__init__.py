"""Jobs: long work in chunks. They survive the failure of any worker and can be paused, resumed and cancelled."""
