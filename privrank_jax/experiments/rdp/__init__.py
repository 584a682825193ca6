"""Studies of ranking differential privacy: synthetic rankings, attacks, learning from them."""
