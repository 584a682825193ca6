"""``python -m privrank_jax`` is the command ``privrank``."""

from privrank_jax.cli import app

if __name__ == "__main__":
    app()
