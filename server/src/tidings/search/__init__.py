"""Search in messages: the index, its indexer and rebuild, and the search that authorises each result."""
