"""``privrank plan``."""
