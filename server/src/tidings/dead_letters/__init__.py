"""Dead letters: records that a worker could not decode. List, inspect, replay and drop them."""
