"""Exact noise on integers, from the operating system's entropy: what every release draws."""
