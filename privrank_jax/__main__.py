"""``python -m privrank_jax`` is the command ``privrank``."""

from privrank_jax import _interrupt


def main() -> None:
    """Run the command; Ctrl-C ends it (:mod:`privrank_jax._interrupt`)."""
    _interrupt.install()
    from privrank_jax.cli import app

    app()


if __name__ == "__main__":
    main()
