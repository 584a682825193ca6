"""The doors that are recorded: each is a small function without arguments that returns numbers, by its name.

This is the one place that knows where functions live: after a move, only imports here change. To record more, add a
line to a table below; what it returns may be any object (``numbers.numbers_of``). A refusal is a result too.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import tempfile
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import privacy, privacy_audit, release
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.links import get_link
from privrank_jax.pairwise import report_sums
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.bodies import BoxedZonotope, Independent, Noise
from privrank_jax.privacy.calibration import gamma_floor
from privrank_jax.privacy.geometry import Cube, Zonotope
from privrank_jax.privacy_audit import enumeration
from privrank_jax.release.discrete_noise import discrete_gaussian, discrete_laplace
from privrank_jax.release.exact_strategy import strategy_of
from tests.same_numbers import made_up
from tests.same_numbers.anywhere import Anywhere, aggregation, pairwise
from tests.same_numbers.coins import frozen
from tests.same_numbers.made_up import (
    RANKS,
    RING,
    STRICT,
    SURVEY,
    asked,
    comparison,
    ranked,
    shared,
)
from tests.same_numbers.numbers import Numbers, joined, numbers_of, tried

Door = Callable[[], Numbers]

DATA_SETS, DRAWS = 200, 3
FLIPS = functools.partial(asked, adjacency="flip")
SURVEYED = functools.partial(asked, public=("questionnaire",))
ADDED, NOISES = ("laplace", "gaussian"), ("laplace", "gaussian", "k-norm")
FOOTRULE = ("tree", "k-norm", "gaussian")


# --- audit: exact losses and simulated releases of all rows ----------------------------------------


def _losses(name: str) -> Numbers:
    row = privacy_audit.get(name)
    held = {} if row.instances is None else {"instances": row.instances()}
    return numbers_of(
        {
            str(epsilon): {
                "pair": enumeration.exact_loss(row, epsilon),
                **{of: enumeration.losses(row, epsilon, one) for of, one in held.items()},
            }
            for epsilon in (row.promise.epsilon, 0.3, 4.0)
        }
    )


def _released(name: str, dtype: str, many: bool) -> Numbers:
    """Releases at three keys, on both neighbors, at two ε; of integers ε alone has the dtype."""
    row = privacy_audit.get(name)

    def once(key: jax.Array, data: Any, epsilon: jax.Array) -> Any:
        found = row.release(key, data, row.at(epsilon))
        return found, row.reduce(found.value if isinstance(found, Estimate) else found)

    run = jax.jit(jax.vmap(once, (0, None, None)) if many else once)
    found = []
    for given, epsilon in itertools.product(row.neighbors, (0.5, 2.0)):
        real = np.issubdtype(given.dtype, np.floating)
        data = jnp.asarray(given, dtype if real else None)
        keys = jax.random.split(jax.random.key(11), DRAWS)
        each = [keys] if many else keys
        found += [run(key, data, jnp.asarray(epsilon, dtype)) for key in each]
    return numbers_of(jax.tree.map(lambda *parts: np.stack(parts), *found))


def _audits() -> Iterable[tuple[str, Door]]:
    for name in privacy_audit.names():
        yield f"audit/{name}/losses", functools.partial(_losses, name)
        for dtype, many in itertools.product(("float32", "float64"), (False, True)):
            door = f"audit/{name}/{dtype}-{'vmap' if many else 'jit'}"
            yield door, functools.partial(_released, name, dtype, many)


# --- exact: releases under frozen coins, each a function of ε --------------------------------------


_USERS = [0, 0, 0, 1, 1, 2, 2, 2, 2, 3]


def _leaderboard(epsilon: float, **told: Any) -> Any:
    wins = WinCounts(jnp.stack([made_up.wins(number).matrix for number in (0, 2, 4, 6, 8)]))
    with tempfile.TemporaryDirectory() as folder:
        path, promise = Path(folder) / "board", asked(epsilon, 2, delta=1e-4)
        with release.Leaderboard(path, promise, items=("a", "b", "c"), steps=5, **told) as board:
            return board.publish(wins), board.diagnostics


def _preferences(epsilon: float) -> Any:
    row = '{{"user": {0}, "chosen": "yes {1}", "rejected": "no {1}"}}'
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "in.jsonl", Path(folder) / "out.jsonl"
        source.write_text("\n".join(row.format(number % 2, number) for number in range(9)))
        kept = release.privatize_preferences(source, FLIPS(epsilon), out, max_per_user=3)
        return kept, out.read_text()


def _exact_ties(*args: Any, **options: Any) -> Any:
    return release.exact_noisy_counts(*args, ties="davidson", **options)


def _on(function: Callable[..., Any], data: Callable[[], Any], promise: Callable[..., Any]) -> Any:
    """``function`` of data and a promise as one of ε; noise that needs no δ leaves it."""
    return lambda epsilon, **told: function(data(), promise(epsilon, delta=1e-5), **told)


def _ways(name: str, function: Callable[..., Any], **options: Iterable[Any]) -> dict[str, Any]:
    """``function`` with each of the options, which its name tells."""
    return {
        "-".join([name, *map(str, values)]): functools.partial(
            function, **dict(zip(options, values))
        )
        for values in itertools.product(*options.values())
    }


_wins, _three = functools.partial(made_up.wins, 1), functools.partial(made_up.wins, 0)
_choices, _table = functools.partial(made_up.choices, 0), functools.partial(made_up.table, 0)
_private = functools.partial(made_up.table, 0, private=True)
_survey = {"questionnaire": SURVEY}


EXACT: dict[str, Callable[[float], Any]] = {
    **_ways("borda", _on(release.exact_borda, lambda: RANKS, ranked), noise=NOISES),
    **_ways("noise-all", _on(release.exact_noise_all, lambda: RANKS, ranked), noise=NOISES),
    **_ways("kwiksort", _on(release.exact_kwiksort, lambda: RANKS, ranked), noise=ADDED),
    **_ways(
        "weights", _on(release.exact_weights, lambda: RANKS, ranked), noise=("k-norm", "gaussian")
    ),
    **_ways("footrule", _on(release.exact_footrule, lambda: RANKS, ranked), noise=FOOTRULE),
    "exponential": _on(release.exact_exponential, lambda: RANKS, ranked),
    "ldp-borda": _on(release.exact_ldp_borda, lambda: RANKS, ranked),
    "ldp-footrule": _on(release.exact_ldp_footrule, lambda: RANKS, ranked),
    "one-pair": _on(release.exact_one_pair_weights, lambda: STRICT, ranked),
    "shuffled": _on(release.exact_shuffled_pair_weights, lambda: np.tile(STRICT, (200, 1)), ranked),
    "mallows": lambda epsilon: release.exact_mallows(STRICT, epsilon),
    "bound": lambda epsilon: release.exact_bound(_USERS, 2),
    "labels": lambda epsilon: release.exact_labels(
        np.array([0, 0.3, 1, 1, 0, 0.8, 1, 0, 0, 1]), FLIPS(epsilon), users=np.array(_USERS)
    ),
    "preferences": _preferences,
    "randomized-response": lambda epsilon: release.exact_randomized_response(
        np.arange(40) % 3 == 0, epsilon * (1 + np.arange(40) % 2)
    ),
    **_ways("totals", _on(release.exact_noisy_counts, _wins, asked), noise=ADDED),
    "totals-flips": _on(release.exact_noisy_counts, _wins, FLIPS),
    "totals-survey": functools.partial(_on(release.exact_noisy_counts, _three, FLIPS), **_survey),
    "totals-survey-replace": functools.partial(
        _on(release.exact_noisy_counts, _three, SURVEYED), **_survey
    ),
    **_ways("ties", _on(_exact_ties, _wins, FLIPS), noise=ADDED),
    "ties-survey": functools.partial(_on(_exact_ties, _three, FLIPS), **_survey),
    "top-k": functools.partial(_on(release.exact_top_k, _wins, asked), k=2),
    "design": _on(release.exact_noisy_design, _wins, asked),
    **_ways("leaderboard", _leaderboard, noise=ADDED, publishes=("totals", "scores")),
    **_ways("choices", _on(release.exact_noisy_counts, _choices, asked), noise=ADDED),
    **_ways("covariate-sums", _on(release.exact_noisy_counts, _table, shared), noise=NOISES),
    **_ways("covariate-ties", _on(_exact_ties, _table, shared), noise=NOISES),
    "covariate-sums-comparison": _on(
        release.exact_noisy_counts, _table, functools.partial(shared, unit="comparison")
    ),
    **_ways(
        "perturbed-mle",
        _on(release.exact_perturbed_mle, _wins, asked),
        link=("logistic", "laplace"),
        noise=ADDED,
    ),
    "perturbed-mle-flips": _on(release.exact_perturbed_mle, _wins, FLIPS),
    "perturbed-davidson": _on(
        functools.partial(release.exact_perturbed_mle, ties="davidson"), _wins, comparison
    ),
    "perturbed-choices": _on(release.exact_perturbed_mle, _choices, comparison),
    **_ways(
        "perturbed-covariates",
        _on(release.exact_perturbed_mle, _private, comparison),
        ties=("half", "davidson"),
    ),
}


def _exact(name: str) -> Numbers:
    found = {}
    for seed, epsilon in itertools.product(range(DRAWS), (0.5, 2.0)):
        with frozen(seed) as losses:
            found[f"{seed}-{epsilon}"] = {"released": EXACT[name](epsilon), "losses": losses}
    return numbers_of(found)


# --- models: scores, errors, intervals and default ridges on made-up data, each a function of a number -------

_KEY = jax.random.key(5)


def _epsilon(number: int) -> float:
    return (0.3, 1.0, 5.0)[number % 3]


def _told(found: Estimate) -> dict[str, Any]:
    return {"noise_scale": found.diagnostics.noise_scale, "gamma": found.diagnostics.gamma}


def _flips(number: int, noise: str) -> tuple[privacy.Privacy, dict[str, Any]]:
    """A promise of users who are asked all pairs once, and which noise keeps it."""
    asked_pairs = 1 - np.eye(made_up.items_of(number), dtype=int)
    promise = FLIPS(_epsilon(number), int(asked_pairs.sum()) // 2, delta=1e-5)
    return promise, {"noise": noise, "questionnaire": asked_pairs if noise == "k-norm" else None}


def _maximum(number: int, **options: Any) -> Any:
    wins, gamma = made_up.wins(number, ties=False), 0.1 * (number % 4)
    found = pairwise.mle(wins, gamma=gamma, **options)
    errors = pairwise.standard_errors(found.value, wins.comparisons, gamma=gamma, **options)
    ends = pairwise.confidence_intervals(errors), pairwise.rank_intervals(errors)
    rows = pairwise.interval_estimates(found.value, wins.comparisons, gamma=gamma, **options)
    return found, errors, ends, rows, pairwise.quasi_variances(errors)


def _perturbed(number: int, noise: str) -> Any:
    wins, (promise, told) = made_up.wins(number, ties=False), _flips(number, noise)
    found = pairwise.perturbed_mle(_KEY, wins, promise, **told)
    told |= _told(found)
    return found, pairwise.interval_estimates(found.value, wins.comparisons, **told)


def _objective(number: int, adjacency: str, **options: Any) -> Any:
    wins = made_up.wins(number, ties=False)
    promise = asked(_epsilon(number), adjacency=adjacency, delta=1e-5)
    return pairwise.perturbed_mle(_KEY, wins, promise, **options)


def _totals(number: int, noise: str) -> Any:
    wins, (promise, told) = made_up.wins(number, ties=False), _flips(number, noise)
    found = pairwise.noisy_counts(_KEY, wins, promise, **told)
    told |= {"noise_scale": found.diagnostics.noise_scale}
    return (
        found,
        pairwise.fit(pairwise.Counts(wins.comparisons), found.value, 1.0),
        pairwise.totals_standard_errors(found.value, wins.comparisons, **told),
        pairwise.interval_estimates(found.value, wins.comparisons, method="counts", **told),
    )


def _private_design(number: int) -> Any:
    wins, promise = made_up.wins(number, ties=False), asked(_epsilon(number))
    design = pairwise.noisy_design(_KEY, wins, promise)
    found = pairwise.perturbed_mle(_KEY, wins, promise)
    cautious = pairwise.cautious_design(found.value, design.value)
    errors = pairwise.errors_under_private_design(found.value, design.value, **_told(found))
    return design, cautious, errors


def _errors(found: Any, design: Any, **told: Any) -> tuple[Any, Any]:
    errors = pairwise.model_errors(found.value, design, **told)
    return errors, pairwise.model_intervals(found.value, errors)


def _davidson(number: int) -> Any:
    wins = made_up.wins(number)
    ridges: dict[str, Any] = {"gamma": 0.2 * (number % 3), "tie_gamma": 0.1}
    found = pairwise.mle(wins, ties="davidson", **ridges)
    return (
        found,
        *_errors(found, pairwise.Counts(wins.comparisons), **ridges),
        pairwise.half_win_test(wins),
    )


def _perturbed_davidson(number: int, noise: str) -> Any:
    wins, (promise, told) = made_up.wins(number), _flips(number, noise)
    found = pairwise.perturbed_mle(_KEY, wins, promise, ties="davidson", **told)
    counts = pairwise.noisy_counts(_KEY, wins, promise, **told, ties="davidson")
    design = pairwise.Counts(wins.comparisons, ties=True)
    fit = pairwise.fit(design, counts.value, 1.0, 1.0)
    told |= _told(found) | {"tie_gamma": found.diagnostics.tie_gamma}
    return found, counts, fit, *_errors(found, pairwise.Counts(wins.comparisons), **told)


def _objective_davidson(number: int) -> Any:
    promise = asked(_epsilon(number))
    return pairwise.perturbed_mle(_KEY, made_up.wins(number), promise, ties="davidson")


def _covariates(number: int) -> Any:
    table = made_up.table(number)
    found, design = pairwise.mle(table, gamma=0.1 * (number % 3)), table.design
    ridge = design.ridges(0.1 * (number % 3))
    tied = np.asarray(table.outcomes) == 0.5
    return found, *_errors(found, design, gamma=ridge, tied=tied)


def _perturbed_covariates(number: int, noise: str) -> Any:
    table, promise = made_up.table(number), shared(_epsilon(number), delta=1e-5)
    found = pairwise.perturbed_mle(_KEY, table, promise, noise=noise)
    told = {"noise_scale": found.diagnostics.noise_scale, "noise": noise}
    ridge = found.diagnostics.gamma
    sums = pairwise.noisy_counts(_KEY, table, promise, noise=noise)
    fit = pairwise.fit(table.design, sums.value, ridge)
    return found, *_errors(found, table.design, gamma=ridge, **told), sums, fit


def _covariate_ties(number: int) -> Any:
    table = made_up.table(number)
    ridge = 0.1 * (number % 3)
    found = pairwise.mle(table, gamma=ridge, ties="davidson", tie_gamma=0.1)
    return found, *_errors(found, table.design, gamma=ridge, tie_gamma=0.1)


def _perturbed_covariate_ties(number: int, noise: str) -> Any:
    table, promise = made_up.table(number), shared(_epsilon(number), delta=1e-5)
    found = pairwise.perturbed_mle(_KEY, table, promise, noise=noise, ties="davidson")
    facts = found.diagnostics
    told = {"noise_scale": facts.noise_scale, "noise": noise}
    told |= {"gamma": facts.gamma, "tie_gamma": facts.tie_gamma}
    return (
        found,
        *_errors(found, table.design, **told),
        pairwise.noisy_counts(_KEY, table, promise, noise=noise, ties="davidson"),
    )


def _objective_covariates(number: int, ties: str) -> Any:
    table = made_up.table(number, private=True)
    return pairwise.perturbed_mle(_KEY, table, comparison(_epsilon(number)), ties=ties)


def _set_choices(number: int, stages: bool) -> Any:
    choices, gamma = made_up.choices(number, stages=stages), 0.1 + 0.1 * (number % 3)
    found = pairwise.mle(choices, gamma=gamma)
    return found, *_errors(found, choices.design, gamma=gamma)


def _perturbed_choices(number: int, noise: str) -> Any:
    choices, promise = made_up.choices(number), FLIPS(_epsilon(number), delta=1e-5)
    found = pairwise.perturbed_mle(_KEY, choices, promise, noise=noise)
    totals = pairwise.noisy_counts(_KEY, choices, promise, noise=noise)
    fit = pairwise.fit(choices.design, totals.value, 1.0)
    return found, totals, fit, *_errors(found, choices.design, noise=noise, **_told(found))


def _objective_choices(number: int) -> Any:
    promise = comparison(_epsilon(number))
    return pairwise.perturbed_mle(_KEY, made_up.choices(number), promise)


def _reports(number: int, **options: Any) -> Any:
    reports = made_up.reports(number)
    sums = pairwise.debiased_sums(*reports)
    found = pairwise.debiased_rr(*reports, **options)
    told = {"gamma": found.diagnostics.gamma} | options
    return (
        found,
        sums,
        pairwise.report_standard_errors(found.value, sums, **told),
        pairwise.report_counts(*reports),
    )


def _streamed_reports(number: int) -> Any:
    answers, observed, epsilon = made_up.reports(number)
    users, pairs = np.nonzero(observed)
    first, second = (ends[pairs] for ends in np.triu_indices(made_up.items_of(number), 1))
    state = report_sums.init(made_up.items_of(number))
    state = report_sums.update(state, first, second, answers[users, pairs], epsilon[users])
    return state, report_sums.finish(state)


MODELS: dict[str, Callable[[int], Any]] = {
    **_ways("counts", _maximum, link=("logistic", "normal", "laplace")),
    **_ways("perturbed-counts", _perturbed, noise=NOISES),
    **_ways(
        "objective-counts",
        _objective,
        link=("logistic", "laplace"),
        noise=ADDED,
        adjacency=("replace", "add-remove"),
    ),
    **_ways("totals", _totals, noise=NOISES),
    "private-design": _private_design,
    "davidson": _davidson,
    **_ways("perturbed-davidson", _perturbed_davidson, noise=NOISES),
    "objective-davidson": _objective_davidson,
    "covariates": _covariates,
    **_ways("perturbed-covariates", _perturbed_covariates, noise=NOISES),
    "covariate-ties": _covariate_ties,
    **_ways("perturbed-covariate-ties", _perturbed_covariate_ties, noise=NOISES),
    **_ways("objective-covariates", _objective_covariates, ties=("half", "davidson")),
    **_ways("choices-in-stages", _set_choices, stages=(False, True)),
    **_ways("perturbed-choices", _perturbed_choices, noise=ADDED),
    "objective-choices": _objective_choices,
    **_ways("reports", _reports, link=("logistic", "normal")),
    "streamed-reports": _streamed_reports,
}


def _model(function: Callable[[int], Any]) -> Numbers:
    return joined(tried(function, number) for number in range(DATA_SETS))


# --- scalars: scales, sensitivities, variances, bounds and plans on small grids -----------------------------


PATHS: list[str] = []


def function_at(path: str) -> Callable[..., Any]:
    """A function of this file, or one by ``module:name`` within the package, looked up when its door is opened."""
    module, colon, name = path.partition(":")
    if module in ("pairwise", "aggregation"):
        return getattr(Anywhere(module), name)
    if colon:
        return getattr(importlib.import_module(f"privrank_jax.{module}"), name)
    return globals()[path]


def _over(path: str, *grids: Iterable[Any], **options: Iterable[Any]) -> Door:
    """A function at all combinations of its arguments."""
    PATHS.append(path)

    def door() -> Numbers:
        function = function_at(path)
        return joined(
            tried(function, *values[: len(grids)], **dict(zip(options, values[len(grids) :])))
            for values in itertools.product(*grids, *options.values())
        )

    return door


def _body(make: Callable[[], Any]) -> Any:
    body = make()
    told = ("dimension_of", "variances", "mean_absolute")
    found: dict[str, Any] = {name: getattr(noise_law, name)(body) for name in told}
    found["reach"] = [noise_law.reach(body, level) for level in (0.5, 0.9, 0.99)]
    found["reach_one"] = noise_law.reach_one(body, 0.9)
    if isinstance(body, Zonotope):
        found["kurtosis"], found["covariance"] = (
            noise_law.kurtosis(body),
            noise_law.covariance(body),
        )
        found["lattice"] = [noise_law.lattice_reach(body, 0.9, rate) for rate in (0.01, 0.5)]
        boxed = Noise("k-norm", 1.0, BoxedZonotope(body, np.array([0.5, 2.0])))
        found["boxed"] = boxed.covariance(), boxed.excess + 3
    return found


def _design_facts(number: int, noise: str, ties: bool) -> Any:
    design, kinds = made_up.table(number).design, (shared(1.0), shared(1.0, unit="comparison"))
    added = pairwise.noise_on_sums(design, noise, 1.0, ties=ties)
    of_items = np.full(design.num_items, added.variance_per_dimension())
    return (
        np.append(of_items, added.variances[design.num_items :]),
        [
            pairwise.covariate_sensitivity(design, one, norm, ties=ties)
            for one in kinds
            for norm in NORMS
        ],
        [pairwise.least_covariate_noise(design, one, ties=ties) for one in kinds],
    )


def _survey_facts(counts: np.ndarray, adjacency: str) -> Any:
    pairs = [pair for pair in zip(*np.nonzero(np.triu(counts))) for _ in range(counts[pair])]
    items, promise = len(counts), SURVEYED(1.0, len(pairs), adjacency, delta=1e-5)
    shaped = pairwise.noise_on_totals("k-norm", 1.0, items, counts, adjacency)
    return (
        shaped.known.body,
        shaped.variance_per_dimension(),
        [pairwise.questionnaire_sensitivity(pairs, items, promise, norm) for norm in NORMS],
        [pairwise.totals_noise(noise, promise, items, None, counts).scale for noise in NOISES],
        [tried(_tie_noise, promise, "", items, noise, counts) for noise in NOISES],
    )


def _totals_scale(*asked: Any) -> Any:
    return {"0": pairwise.totals_noise(*asked).scale}


def _tie_noise(*asked: Any) -> Any:
    attained, added = pairwise.tie_noise(*asked)
    independent = isinstance(added.body, Independent)
    weight, shape = (added.body.last[0], None) if independent else (1.0, added.body)
    return attained, {"kind": added.kind, "scale": added.scale, "weight": weight, "shape": shape}


def _variance(scale: float, noise: str) -> float:
    return Noise.independent(noise, scale).variance_per_dimension()


def _objective_scales(link: str, promise: privacy.Privacy, **told: Any) -> Any:
    scales = tried(privacy.calibrate_objective_perturbation, get_link(link), promise, **told)
    return scales, tried(gamma_floor, get_link(link), promise)


def _strategies(promise: privacy.Privacy, steps: int, noise: str) -> Any:
    found = strategy_of(promise, steps, noise)
    return found.scales, found.deviations(steps)


def _planned(items: int, users: int, promise: privacy.Privacy, trust: str) -> Any:
    rows = aggregation.proven_errors(items, users, promise, trust=trust)
    setting = aggregation.Setting(users, promise)
    planned = [aggregation.planned_costs(row, items, [setting]) for row in rows]
    least = aggregation.least_proven_error(items, users, promise, trust=trust)
    return joined(rows), joined({"planned": one} for one in planned), least


def _bound(method: str, items: int, users: int, promise: privacy.Privacy, **told: Any) -> Any:
    settings = {"split": 0.5} if method == "kwiksort" else {}
    method = method.removeprefix("private_").replace("_", "-")
    return aggregation.bound(method, items, users, promise, **told, **settings)


def _local_bound(method: str, items: int, users: int, epsilon: float, **told: Any) -> Any:
    return aggregation.bound(method, items, users, ranked(epsilon), trust="local", **told)


def _sort_plan(promise: privacy.Privacy, noise: str) -> Any:
    return aggregation.kwiksort_plan(
        aggregation.PairWeights.from_ranks(RANKS), promise, noise=noise
    )


def _levels(items: int, noise: str) -> Any:
    return aggregation.mean_square_error(aggregation.footrule_levels(items, noise))


def _opendp(sensitivity: float, epsilon: float, delta: float) -> Any:
    return (
        discrete_laplace(sensitivity, epsilon)[1],
        discrete_gaussian(sensitivity, epsilon, delta)[1],
    )


def _kinds(delta: float) -> list[privacy.Privacy]:
    return [
        *(comparison(1.0, adjacency, delta) for adjacency in privacy.ADJACENCIES),
        *(asked(0.4, 3, adjacency, delta=delta) for adjacency in privacy.ADJACENCIES),
        SURVEYED(2.0, delta=delta),
        shared(0.7, delta=delta),
    ]


BODIES: tuple[Callable[[], Any], ...] = (
    *(functools.partial(Cube.of_pairs, items) for items in (2, 4)),
    *(functools.partial(Zonotope.of_all_pairs, items) for items in (3, 6)),
    functools.partial(Zonotope.of_pairs, [(0, 1), (1, 2), (2, 3)], 4),
    functools.partial(Zonotope.of_pairs, [(0, 1), (1, 2), (2, 3), (3, 0), (3, 0)], 4),
)
E, D, M, N = (0.1, 1.0, 6.0), (1e-9, 1e-5, 0.01), (2, 3, 5, 12), (1, 30, 1000)
BOTH, NORMS, GAMMA, LEVEL = (False, True), ("l1", "l2"), (None, 30.0), (None, 0.95)
SHAPED, LOCAL = (*NOISES, "tree"), ("duchi", "privunit", "subset-selection", "randomized-response")
PURE, KINDS = _kinds(0.0), [*_kinds(0.0), *_kinds(1e-5)]
MNP = M, N, [ranked(0.3), ranked(2.0), ranked(0.3, 1e-6), ranked(2.0, 1e-6)]
THETA, SIZES = [np.linspace(-1, 1, items) for items in (3, 10)], (50, 4000)
VECTOR, PART, HALF = [np.array([0.2, -0.5, 0.3])], (Fraction(0), Fraction(1, 3)), (Fraction(1, 2),)

SCALARS: dict[str, Door] = {
    "noise-laws": _over("_body", BODIES),
    "laplace-scale": _over("privacy:laplace_scale", (0.5, 2.0, 7.0), E),
    "gaussian-scale": _over("privacy:gaussian_scale", (0.5, 2.0), E, D),
    "gaussian-delta": _over("privacy:gaussian_delta", (0.5, 3.0), (1.0, 2.0), E),
    "calibrate-gaussian": _over("privacy:calibrate_gaussian", E, D, (0.5, 2.0)),
    "additive-scale": _over("privacy.calibration:additive_scale", NOISES, KINDS, (1.0,), (2.0,)),
    "objective": _over(
        "_objective_scales", ("logistic", "laplace"), KINDS, noise=ADDED, gamma=GAMMA
    ),
    "meeting-noise": _over("pairwise:meeting_noise", KINDS, (0, 3), GAMMA),
    "choice-noise": _over("pairwise:choice_noise", KINDS, (2, 5), GAMMA),
    "pure-zcdp": _over("privacy:pure_zcdp", E),
    "gaussian-zcdp": _over("privacy:gaussian_zcdp", (0.5, 3.0), (1.0, 2.0)),
    "zcdp-epsilon": _over("privacy:zcdp_epsilon", (0.01, 0.5), D),
    "zcdp-delta": _over("privacy:zcdp_delta", (0.01, 0.5), E),
    "one-shot": _over(
        "privacy.selection:one_shot_scale",
        *(KINDS, (1, 4), (10,)),
        **{"sensitivity": (2.0,), "approximate": BOTH, "monotone": BOTH},
    ),
    **{
        find: _over(
            f"privacy.selection:{find}_scale",
            *(KINDS, (1, 4)),
            **{"sensitivity": (2.0,), "approximate": BOTH, "total_change": (3.0, np.inf)},
        )
        for find in ("peeling", "permute_and_flip")
    },
    "flips": _over("privacy:flip_probability", E),
    "report-information": _over("privacy:report_information", E),
    "report-norm": _over("privacy:report_norm", LOCAL, M, E),
    "report-covariance": _over("privacy.vectors:report_covariance", LOCAL, VECTOR, E, (1.0,)),
    "shuffled-delta": _over("privacy:shuffled_delta", (100, 5000), (0.5, 2.0), (0.1, 0.4)),
    "shuffled-epsilon": _over("privacy:shuffled_epsilon", (100, 5000), (0.5, 2.0), (1e-6, 1e-3)),
    "prefix-sums": _over("privacy:prefix_sum_errors", ("square-root", "tree"), (1, 5, 9), ADDED),
    "prefix-bound": _over("privacy:prefix_sum_error_bound", (1, 5, 100)),
    "totals-sensitivity": _over("pairwise:totals_sensitivity", KINDS, NORMS),
    "totals-noise": _over("_totals_scale", NOISES, KINDS, (4,), (None, 1.5), (None,)),
    "tie-noise": _over("_tie_noise", KINDS, ("",), (4,), NOISES, (None,)),
    "survey": _over("_survey_facts", (SURVEY, RING), ("flip", "replace")),
    "covariates": _over("_design_facts", range(4), NOISES, BOTH),
    "design-scales": _over("pairwise:design_scales", KINDS),
    "noise-variance": _over("_variance", (0.5, 2.0), ADDED),
    "stream-scale": _over("pairwise:continual_scale", ADDED, KINDS, (1.0, 2.5)),
    "stream-factors": _over("pairwise:noise_factors", M, ADDED),
    "planned-error": _over("pairwise:planned_error", THETA, E, SIZES),
    "users-needed": _over("pairwise:users_needed", THETA, E, (0.05, 0.3)),
    "epsilon-needed": _over("pairwise:epsilon_needed", THETA, SIZES, (0.1, 0.5)),
    "planned-release": _over(
        "pairwise:planned_release", THETA, KINDS, SIZES, near=BOTH, exposure=(0.0, 1.0)
    ),
    "users-for-release": _over("pairwise:users_for_release", THETA, PURE, (0.1, 0.3)),
    "epsilon-for-release": _over("pairwise:epsilon_for_release", THETA, PURE, (4000,), (0.2,)),
    **{
        find: _over(f"pairwise:{find}", (5, 50), (0.1, 0.9), E)
        for find in ("edge_rate", "edge_lower_bound")
    },
    "user-rate": _over("pairwise:user_rate", (5, 50), SIZES, E),
    **{
        find: _over(f"aggregation:{find}", *MNP, noise=SHAPED)
        for find in ("dp_borda_scale", "noise_all_scale", "dp_footrule_deviation", "default_focus")
    },
    "weights-scales": _over("aggregation:private_weights_scales", *MNP, noise=SHAPED),
    "noise-all-deviation": _over("aggregation:noise_all_deviation", *MNP, noise=SHAPED),
    **{
        f"{find}_bound": _over("_bound", (find,), *MNP, noise=SHAPED, confidence=LEVEL)
        for find in ("borda", "footrule", "kwiksort", "noise_all", "private_weights")
    },
    **{
        f"{find}_bound": _over("_bound", (find,), *MNP, confidence=LEVEL)
        for find in ("exponential", "hay_kwiksort")
    },
    "borda-sensitivity": _over("aggregation:borda_sensitivity", M, (1, 2)),
    "footrule-unit": _over("aggregation:footrule_unit", M, MNP[2], SHAPED),
    "footrule-levels": _over("_levels", M, SHAPED),
    "noise-sums": _over("aggregation:absolute_sum", SHAPED, M, LEVEL),
    "footrule-ranges": _over("aggregation:footrule_ranges", M, SHAPED, LEVEL),
    "weight-variance": _over("aggregation:local_weight_variance", M, N, E, LOCAL),
    "one-pair-variance": _over("aggregation:one_pair_variance", M, N, E),
    "shuffled-variance": _over("aggregation:shuffled_pair_variance", M, N, E),
    "ldp-footrule-deviation": _over("aggregation:footrule_deviation", M, N, E),
    "ldp-footrule-excess": _over("aggregation:ldp_footrule_excess", M, N, E, (0.95,)),
    "ldp-footrule-norm": _over("aggregation:ldp_footrule_norm", M, E),
    "subset-norm": _over("aggregation:subset_norm", M, E),
    "ldp-borda-norm": _over("aggregation:ldp_borda_norm", LOCAL, M, E),
    **{
        find: _over("_local_bound", (method,), M, N, E, confidence=LEVEL, noise=LOCAL)
        for find, method in (("local_noise_all_bound", "noise-all"), ("ldp_borda_bound", "borda"))
    },
    "ldp-footrule-bound": _over("_local_bound", ("footrule",), M, N, E, confidence=LEVEL),
    "ldp-kwiksort-bound": _over(
        "_local_bound", ("kwiksort",), M, N, E, max_uses=(5,), failure=(0.1,), split=(0.5,)
    ),
    "local-plan": _over("aggregation:local_plan", M, MNP[2]),
    "sort-plan": _over("_sort_plan", MNP[2], NOISES),
    "query-budget": _over("aggregation:query_budget", M, (None, 0.01)),
    "pure-lower-bound": _over("aggregation:pure_lower_bound", M, E),
    "approximate-lower-bound": _over("aggregation:approximate_lower_bound", M, E),
    "proven": _over("_planned", (3, 12), (1000,), MNP[2], ("central", "shuffled", "local")),
    "method": _over("aggregation:choose_method", *MNP),
    "report": _over("aggregation:choose_report", *MNP),
    **{
        f"mallows-{find}": _over(f"mallows:{find}", M, E)
        for find in ("expected_concordance", "log_normalizer", "debiasing_variance")
    },
    **{
        f"mallows-{find}": _over(f"mallows:{find}", (1, 2), M[1:], E)
        for find in ("insertion_mean", "insertion_variance", "pair_order_probability")
    },
    "mallows-attack": _over("mallows:attack_error_bound", M, E, N),
    "cube-lattice": _over(
        "privacy.cube_lattice:cube_lattice_reach", (1, 3, 6), (0.5, 0.95), (0.01, 0.5)
    ),
    "exact-budget": _over("release.gaussian_budget:gaussian_budget", E, D),
    "exact-scales": _over("_opendp", (1.0, 7.5), E, D),
    "exact-flips": _over("release.randomized_response:keep_probability", E),
    "exact-zonotope": _over("release.k_norm:zonotope_rate", (1, 4), E),
    "exact-footrule": _over("release.footrule_costs:deviation", M, HALF),
    "exact-weights": _over("release.weights_in_parts:deviations", M, PART, HALF),
    "exact-strategies": _over("_strategies", KINDS, (1, 5, 9), ADDED),
}


def _table_of_doors() -> dict[str, Door]:
    found = dict(_audits())
    found |= {f"exact/{name}": functools.partial(_exact, name) for name in EXACT}
    found |= {f"models/{name}": functools.partial(_model, one) for name, one in MODELS.items()}
    return found | {f"scalars/{name}": door for name, door in SCALARS.items()}


DOORS = _table_of_doors()
"""All that is recorded, by part: ``audit``, ``exact``, ``models`` and ``scalars``."""
