"""A sequence, the one vector it becomes, and what is written from that."""
