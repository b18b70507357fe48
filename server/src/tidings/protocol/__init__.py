"""What is published in `protocol/`: schemas, the AsyncAPI document, codes and golden frames, all made from the types."""
