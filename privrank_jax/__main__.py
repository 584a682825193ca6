"""``python -m privrank_jax`` is the command ``privrank``."""

import gc

from privrank_jax import _interrupt


def main() -> None:
    """Run the command; Ctrl-C ends it (:mod:`privrank_jax._interrupt`)."""
    _interrupt.install()
    # Modules and programs stay: searching them for garbage takes a tenth of a run.
    gc.set_threshold(1_000_000, 20, 50)
    from privrank_jax.cli import app

    app()


if __name__ == "__main__":
    main()
