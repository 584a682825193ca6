"""Randomized preferences read back, as the losses of :mod:`privrank_jax.preferences` take them."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Integer

from privrank_jax._cells.codes import NameCodes
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.preference_pairs import MARK, OPTIONAL, Pair, PreferenceFields, roles_of
from privrank_jax._validate import check_choice
from privrank_jax.datasets.json_lines import JsonLines
from privrank_jax.datasets.preferences_file import cell_of_user
from privrank_jax.datasets.reports_file import Epsilons, largest_sum
from privrank_jax.privacy.local import CODINGS


@dataclass(frozen=True, eq=False)
class PreferenceTable:
    """N randomized preferences.

    Attributes:
        chosen: the N answers that the reports name, each a text or a list of messages.
        rejected: the other ones.
        reports: ``(N,)`` bool, whether the chosen one is ``first``.
        epsilon: ``(N,)`` float64, the ε of each report.
        prompts: N prompts; empty where the file has none.
        ids: N ids of lines, texts or whole numbers; empty where the file has none.
        users: ``(N,)`` int, a number for each user; the row number where the file names no users.
        user_names: names of the users, or ().
        others: further fields that were kept, N values each.
        name: name of the file.
    """

    chosen: tuple[Any, ...]
    rejected: tuple[Any, ...]
    reports: Bool[np.ndarray, "rows"]
    epsilon: Float[np.ndarray, "rows"]
    prompts: tuple[Any, ...]
    ids: tuple[Any, ...]
    users: Integer[np.ndarray, "rows"]
    user_names: tuple[str, ...]
    others: Mapping[str, tuple[Any, ...]]
    name: str = ""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {len(self):,} randomized preferences>"

    def __len__(self) -> int:
        return self.reports.size

    @property
    def first(self) -> tuple[Any, ...]:
        """The answer of each pair that comes first as text, whatever the report."""
        return tuple(c if r else j for c, j, r in zip(self.chosen, self.rejected, self.reports))

    @property
    def second(self) -> tuple[Any, ...]:
        """The other answer of each pair."""
        return tuple(j if r else c for c, j, r in zip(self.chosen, self.rejected, self.reports))

    def labels(self, coding: str) -> Integer[np.ndarray, "rows"]:
        """The reports as labels of the pairs ``(first, second)``, for a loss with the same ``coding``.

        Args:
            coding: ``"0/1"`` or ``"-1/1"``; 1 says that ``first`` was reported as the chosen one.
        """
        check_choice("coding", coding, tuple(CODINGS))
        return np.where(self.reports, *CODINGS[coding][::-1]).astype(np.int8)

    @property
    def weights(self) -> Float[np.ndarray, "rows"]:
        """tanh²(ε/2), the information of each report: weights for the mean of any loss but the likelihood."""
        return np.tanh(0.5 * self.epsilon) ** 2

    @property
    def largest_epsilon(self) -> float:
        """Largest ε of a report."""
        return float(self.epsilon.max())

    @property
    def largest_epsilon_of_a_user(self) -> float | None:
        """Largest sum of the ε of one user's reports; None without users."""
        return largest_sum(self.users, self.epsilon) if self.user_names else None


def read_preferences(path: str | os.PathLike[str]) -> PreferenceTable:
    """Read randomized preferences, as ``privrank privatize`` writes them.

    Args:
        path: a .jsonl or .jsonl.gz file with the fields ``chosen``, ``rejected`` and ``label_epsilon``, and perhaps
            ``prompt``, ``id``, ``user`` and others.

    Returns:
        The texts in the memory of the host, with arrays for the losses: ``epsilon`` for
        :func:`~privrank_jax.preferences.reward_loss` and :func:`~privrank_jax.preferences.dpo_loss`, which take the
        answers as chosen and rejected; ``weights`` for the mean of the losses; ``labels`` for the losses of a
        difference ``first - second``.

    Raises:
        DataError: what is wrong, in which line, and how to fix it; a file whose order was not randomized.
    """
    lines = JsonLines(Path(path))
    names: dict[str, str] = {}
    others: dict[str, list[Any]] = {}
    columns: dict[str, list[Any]] = {role: [] for role in ("chosen", "rejected", *OPTIONAL)}
    reports, epsilon, users = array("b"), array("d"), array("i")
    people, budgets = NameCodes("user", False), Epsilons()
    for record in lines:
        try:
            if MARK not in record:
                raise BadCell(
                    f"no field {MARK!r}, so its order was not randomized: privatize the file first (privrank privatize)"
                )
            epsilon.append(budgets[json.dumps(record.pop(MARK))])
            if not names:
                names = roles_of(record, PreferenceFields())
                others = {name: [] for name in record if name not in names}
            reports.append(Pair.of(record, names, ()).chosen_first)
            if record.keys() != {*names, *others}:
                raise BadCell("other fields than in the first line")
            if "user" in names:
                users.append(people[cell_of_user(record["user"])])
        except BadCell as error:
            raise lines.fault(str(error)) from None
        for name in names:
            columns[name].append(record[name])
        for name, values in others.items():
            values.append(record[name])
    if not reports:
        raise DataError(f"{lines.path.name} is empty: it needs one JSON object per line")
    return PreferenceTable(
        chosen=tuple(columns["chosen"]),
        rejected=tuple(columns["rejected"]),
        reports=np.frombuffer(reports, np.int8).astype(bool),
        epsilon=np.frombuffer(epsilon, np.float64),
        prompts=tuple(columns["prompt"]),
        ids=tuple(columns["id"]),
        users=np.frombuffer(users, np.int32) if "user" in names else np.arange(len(reports)),
        user_names=tuple(people),
        others={name: tuple(values) for name, values in others.items()},
        name=lines.path.name,
    )
