"""Doors for files whose users have no fixed place: what a user is asked then depends on the place, not on a coin."""

from __future__ import annotations

from privrank_jax.privacy_audit.doors import DOORS
from privrank_jax.privacy_audit.replay import Door

_OF_USERS = next(door.loss for door in DOORS if door.function.endswith(":ldp_borda"))
SHUFFLED = (
    Door(
        function="privrank_jax.release.one_pair:exact_one_pair_weights",
        data="ranks",
        loss=_OF_USERS,
    ),
    *DOORS,
)
