"""Users, budget or error before there are data, by simulation: surveys, scores, consensus rankings and points.

An answer is the least number of users, or ε, at which the error of the simulated release is at most the target. All
numbers have the standard error of the simulation beside them; that of an answer is the one of the error there, divided
by the slope of the error. Beside it stands what papers prove.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
from typing import Any

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._neighbors import ADJACENCIES
from privrank_jax._promise import Privacy
from privrank_jax.jobs.methods import CONSENSUS, KEMENY, RULES
from privrank_jax.jobs.page import frame_of, html_of, text_of

_METHODS = ("weights", "borda", "kwiksort", "noise-all", "exponential")
_MOST_ENUMERATED = 12
_FOR_SCORES = 0.9  # of ε, 1 - private_design.DESIGN_SHARE; the rest is for intervals
_NOT_OF_TRUST = {"local": {"delta"}, "shuffled": {"share_observed"}}
_FACTS = ("items", "adjacency", "delta", "spread", "confidence", "target", "draws", "seed")
_OF_ORDER = ("pairs", "first", "place")
_WHOLE = ("items", "limit", "users", "max_per_user", "top_k", "draws", "seed")


def plan(
    items: int | None = None,
    *,
    rankings: bool = False,
    points: str | None = None,
    limit: int | None = None,
    epsilon: float | None = None,
    target: float | None = None,
    users: int | None = None,
    error: str | None = None,
    top_k: int | None = None,
    confidence: float | None = None,
    share_observed: float = 1.0,
    spread: float = 1.0,
    link: str = "logistic",
    trust: str | None = None,
    delta: float = 0.0,
    method: str | None = None,
    rule: str | None = None,
    max_per_user: int | None = None,
    adjacency: str = "replace",
    draws: int = 500,
    seed: int = 0,
) -> Plan:
    """Plan a survey, scores, a consensus or points: how many users, which ε, or what error. Uses no data.

    Give two of ``epsilon``, ``target`` and ``users`` to get the third; all three tell how many more users it takes. The
    release is simulated in a crowd whose items have scores evenly from ``spread`` to minus that.

    Args:
        items: number of items.
        rankings: plan a consensus of whole rankings, one per user; else comparisons.
        points: plan totals of points on this scale, such as ``"0-5"``; ``"0-1"`` for approvals.
        limit: of points: the most items that one user may give points to.
        epsilon: budget of one answer; of a user with ``rankings``, ``points`` or another trust than local.
        target: error wanted, see ``error``.
        users: number of users.
        error: what ``target`` is about. largest: error of a score or of mean points; pairs: share in the wrong order;
            first: chance that the ``top_k`` first items are not in the right order; place: mean error; cost: pairs per
            user above the best order for these users. Default: cost of rankings, else largest.
        top_k: of the error of the first: how many items; 3 by default.
        confidence: the error must stay below ``target`` with this probability. Default: on average; 0.95 for the
            largest error of ``points``.
        share_observed: share of all pairs that a user is asked.
        spread: best score; at 1 the best item beats the worst 88 times of 100.
        link: of comparisons: logistic, normal or laplace.
        trust: who sees the answers. local: each user randomizes them, the default of comparisons; shuffled: each
            answers about a random pair that nobody else learns, and a shuffler hides who sent what; central: a curator
            sees all, the default of rankings and points, and publishes scores of comparisons.
        delta: of shuffled reports, or of Gaussian noise.
        method: of rankings. Default: weights; borda for users who are added or removed.
        rule: of rankings: the order is made of private weights by this rule.
        max_per_user: of curators: comparisons of each user.
        adjacency: of curators: how neighbors differ in a user: replace, flip (of comparisons) or add-remove, where the
            number of users is private, and ``users`` plans for so many.
        draws: simulated releases; fewer for many items.
        seed: of the simulation.

    Returns:
        The plan: numbers, a table and words.

    Raises:
        ValueError: options that are out of range or don't go together, or a target that can't be reached.

    >>> found = plan(items=5, epsilon=1, target=0.1)
    >>> found.facts["users_needed"] > 10 * found.facts["users_needed_without_privacy"] / 3
    True
    """
    design = _Design(**locals())
    import jax

    with jax.enable_x64(True):
        return _simulated(design)


@dataclasses.dataclass(frozen=True, repr=False)
class Plan:
    """A solved plan: ``print`` shows it in words, a notebook as HTML.

    Attributes:
        title: what is planned, in one line.
        opening: who sees which answers, and what ε counts for.
        columns: the table as text: cells by heading.
        paragraphs: the answer, and what is protected.
        facts: the numbers, by name.
        warnings: why the plan may not serve.
    """

    title: str
    opening: str
    columns: dict[str, list[str]]
    paragraphs: tuple[str, ...]
    facts: dict[str, Any]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Plan {self.title!r}>"

    def __str__(self) -> str:
        table = text_of(self.title, self.columns, next(iter(self.columns)), self.paragraphs)
        return f"{self.opening}\n\n{table}"

    def _repr_html_(self) -> str:
        below = (self.opening, *self.paragraphs)
        return html_of(self.title, self.columns, next(iter(self.columns)), below)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values, as ``privrank plan --json`` prints them."""
        return self.facts

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of a data frame: of a consensus one per method with a proof, else one."""
        rest = {name: value for name, value in self.facts.items() if name != "methods"}
        return self.facts.get("methods") or [_flat(rest)]

    def to_frame(self) -> Any:
        """The rows as a data frame, as :meth:`~privrank_jax.jobs.result.Ranking.to_frame` makes it."""
        return frame_of(self.rows)


def _flat(facts: dict[str, Any], head: str = "") -> dict[str, Any]:
    """Nested facts as columns."""
    found: dict[str, Any] = {}
    for name, value in facts.items():
        nested = isinstance(value, dict)
        found |= _flat(value, f"{head}{name}_") if nested else {head + name: value}
    return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Kind:
    """What is planned, who sees what by trust, options and facts; the usual trust and error come first."""

    what: str
    seen: dict[str, str]
    options: tuple[str, ...]
    facts: tuple[str, ...]
    adjacencies: tuple[str, ...] = ("replace", "add-remove")
    errors: tuple[str, ...] = ("largest", *_OF_ORDER)
    most_items: int = 300


_KINDS = {
    "survey": _Kind(
        what="a survey of comparisons",
        seen={
            "local": "All users randomize their own answers before sending them.",
            "shuffled": "All users randomize their own answers, and a shuffler hides who sent which.",
        },
        options=("link", "share_observed"),
        facts=("link", "share_observed", "answers_per_user"),
    ),
    "scores": _Kind(
        what="scores that a curator publishes",
        seen={"central": "A curator sees all answers and publishes only scores with noise."},
        options=("adjacency", "max_per_user"),
        facts=("max_per_user", "share_of_scores"),
        adjacencies=ADJACENCIES,
    ),
    "consensus": _Kind(
        what="a consensus of rankings",
        seen={"central": "A curator sees all rankings and publishes only a noisy consensus."},
        options=("adjacency", "rankings", "method", "rule"),
        facts=("pairs", "rule"),
        errors=("cost", *_OF_ORDER),
        most_items=100,
    ),
    "points": _Kind(
        what="totals of points",
        seen={"central": "A curator sees all ballots and publishes only noisy totals."},
        options=("adjacency", "points", "limit"),
        facts=("points", "limit"),
        most_items=1_000,
    ),
}


class _Design(types.SimpleNamespace):
    """The arguments of :func:`plan`, and what follows from them; refuses those that don't go together."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        parameters = inspect.signature(plan).parameters
        self.told = {k: value for k, value in given.items() if value != parameters[k].default}
        compared = "scores" if self.trust == "central" else "survey"
        self.kind = "consensus" if self.rankings else compared if self.points is None else "points"
        self.of = _KINDS[self.kind]
        self.trusted = self.trust or next(iter(self.of.seen))
        self.goal: str = self.error or self.of.errors[0]
        self.certainty = self.confidence
        if (self.kind, self.goal) == ("points", "largest"):
            self.certainty = self.confidence or 0.95
        self.part = "mean" if self.certainty is None else "upper"  # of the errors, that is bounded
        self.most_users = 10**9 if self.trusted == "shuffled" else 10**15
        usual = "weights" if self.rule or self.adjacency == "replace" else "borda"
        self.named = self.method or usual
        self._check()
        self.pairs = self.items * (self.items - 1) // 2
        self.shown_first = min(self.top_k or 3, self.items)
        self.of_answers = (self.kind, self.trusted) == ("survey", "local")  # ε is of one answer
        if self.trusted == "shuffled":
            self.share_observed = 1 / self.pairs
        self.answers_per_user = self.share_observed * self.pairs
        self.share_of_scores = 1.0 if self.adjacency == "flip" else _FOR_SCORES
        self.errors = {
            "largest": f"largest error of a {'mean of points' if self.kind == 'points' else 'score'}",
            "cost": "cost above the best order, pairs per user",
            "pairs": "share of pairs in the wrong order",
            "first": f"chance that the first {self.shown_first} are not in the right order",
            "place": "mean error of a place",
        }

    def _check(self) -> None:
        from privrank_jax._validate import check_choice
        from privrank_jax.jobs.checks import refuse

        of = self.of
        refuse(self.items is None, "give the number of items by `items`.")
        check_choice("trust", self.trusted, tuple(dict.fromkeys((*of.seen, "central"))))
        others = {name for kind in _KINDS.values() for name in kind.options} - {*of.options}
        for name in self.told:
            if name in others | _NOT_OF_TRUST.get(self.trusted, set()):
                raise ValueError(
                    f"`{name}` does not fit {of.what}, trust={self.trusted!r}: leave it out."
                )
        for name, choices in {
            "link": ("logistic", "normal", "laplace"),
            "rule": (None, KEMENY, *RULES),
            "method": (None, *_METHODS),
            "adjacency": of.adjacencies,
            "error": (None, *of.errors),
        }.items():
            check_choice(name, getattr(self, name), choices)
        largest = {"pairs": 0.5, "first": 1.0}.get(self.goal, math.inf)
        budgets = f"from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}; 1 is usual"
        for name, fits, words in (
            ("items", lambda m: 2 <= m <= of.most_items, f"from 2 to {of.most_items:,} here"),
            ("limit", lambda k: k >= 1, "at least 1"),
            ("epsilon", lambda e: SMALLEST_EPSILON <= e <= LARGEST_EPSILON, budgets),
            ("users", lambda n: 1 <= n <= self.most_users, f"from 1 to {self.most_users:,}"),
            ("target", lambda t: 0 < t < largest, f"positive and below {largest:g}"),
            ("spread", lambda s: 0 <= s <= 1000, "from 0 to 1,000"),
            ("share_observed", lambda p: 1e-9 <= p <= 1, "at least 1e-9 and not above 1"),
            ("confidence", lambda q: 0 < q < 1, "between 0 and 1"),
            ("delta", lambda d: 0 <= d < 1, "at least 0 and below 1"),
            ("max_per_user", lambda n: 1 <= n <= 10**6, "from 1 to a million"),
            ("top_k", lambda k: 1 <= k <= self.items, "from 1 to the number of items"),
            ("draws", lambda d: 2 <= d <= 100_000, "from 2 to 100,000"),
            ("seed", lambda k: 0 <= k < 2**63, "at least 0 and below 2**63"),
        ):  # fmt: skip
            value = getattr(self, name)
            if name in _WHOLE and not (value is None or hasattr(value, "__index__")):
                raise ValueError(f"`{name}` must be a whole number, got {value}.")
            if value is not None and not fits(value):
                raise ValueError(f"`{name}` must be {words}, got {value}.")
        fitting = [name for name in _METHODS if self.adjacency in CONSENSUS[name].adjacencies]
        refuse(
            [self.epsilon, self.target, self.users].count(None) > 1,
            "give two of `epsilon`, `target` and `users` to get the third.",
            self.trusted == "shuffled" and not self.delta,
            "shuffled answers need a `delta` above 0, such as 1/n**2 for n users: else it adds no privacy.",
            self.goal in _OF_ORDER and not self.spread,
            "items that are equally good have no right order: take a `spread` above 0.",
            self.goal == "first" and self.confidence is not None,
            "the error of the first items is a chance already: leave `confidence` out.",
            self.kind == "scores" and self.max_per_user is None,
            "trust='central' needs `max_per_user`, the number of comparisons of each user.",
            self.named == "exponential" and self.items > _MOST_ENUMERATED,
            f"'exponential' is simulated for up to {_MOST_ENUMERATED} items: take another `method`.",
            self.rankings and self.named == "exponential" and self.delta,
            "'exponential' has no noise that a `delta` is for: leave it out.",
            self.rule is not None and not CONSENSUS[self.named].solves,
            f"method={self.named!r} gives no weights of all pairs, by which a `rule` ranks: leave one of them out.",
            self.rankings and self.named not in fitting,
            f"adjacency={self.adjacency!r} is for method {' or '.join(map(repr, fitting))}: take one of these.",
        )

    def promise(self, epsilon: Any, **more: Any) -> Privacy:
        """What a release to users promises."""
        return Privacy(epsilon, unit="user", adjacency=self.adjacency, delta=self.delta, **more)


def _simulated(design: _Design) -> Plan:
    from privrank_jax.jobs.checks import about_delta
    from privrank_jax.jobs.plan_worlds import LEVEL, Solver
    from privrank_jax.privacy.guarantee import Guarantee

    solver, budget, needed = Solver(design), (design.epsilon, 0.0), []
    if design.epsilon is None:
        budget = solver.least(users=design.users, epsilon=None)
    elif design.target is not None:
        needed = [solver.least(users=None, epsilon=one) for one in (design.epsilon, math.inf)]
    epsilon, whole = budget[0], [math.ceil(one) for one, _ in needed]
    users = design.users or whole[0]
    errors = [solver.at(users, one) for one in (epsilon, math.inf)]
    if not all(math.isfinite(x) for part in errors for one in part.values() for x in one.values()):
        raise ValueError(
            "this design can't be simulated: take a smaller `spread`, or more usual numbers."
        )
    facts = {name: getattr(design, name) for name in (*_FACTS, *design.of.facts)}
    facts |= {"trust": design.trusted, "error_of_target": design.goal, "users": users}
    facts |= {"epsilon": epsilon, "epsilon_standard_error": budget[1], "draws": solver.draws}
    facts |= {"users_needed": None, "more_users": None}
    facts |= {"error": errors[0], "error_without_privacy": errors[1]}
    rows: list[tuple[str, ...]] = [("users", f"{users:,}", "")]
    if needed:
        facts |= {"users_needed": whole[0], "more_users": max(whole[0] - (design.users or 0), 0)}
        facts |= {"users_standard_error": needed[0][1], "users_needed_without_privacy": whole[1]}
        cells = (_text(one, of[1]) for one, of in zip(whole, needed, strict=True))
        rows.append(("users needed for the target", *cells))
    told = _text(*budget) if design.epsilon is None else f"{epsilon:g}"
    rows.append((f"epsilon of {'one answer' if design.of_answers else 'a user'}", told, ""))
    above = f"... not exceeded with probability {design.certainty or LEVEL:g}"
    for name in (one for one in design.errors if one in errors[0]):
        parts = {"mean": ("standard_error", design.errors[name])}
        if name in ("largest", "cost"):
            parts["upper"] = ("upper_standard_error", above)
        for part, (error, words) in parts.items():
            rows.append((words, *(_text(one[name][part], one[name][error]) for one in errors)))
    if design.kind in _BESIDE:
        more, own = _BESIDE[design.kind](design, facts)
        rows, facts = rows + more, facts | own
    how = (
        f"The release was simulated {solver.draws:,} times (`seed` {design.seed}); after ± stands the standard error. "
        f"Scores are planned evenly from {design.spread:g} to {-design.spread:g} (`spread`)."
    )
    untold = {"epsilon", "target", "users", "draws", "seed"}
    title = ", ".join(f"{k}={v!r}" for k, v in design.told.items() if k not in untold)
    counts, promise = "a user", design.promise(epsilon, contributions=design.max_per_user)
    if design.of_answers:
        counts = "one answer; fewer answers of a user (`share_observed`) protect users better"
        promise = Privacy(epsilon, unit="comparison", adjacency="flip")
    elif design.kind == "scores" and design.share_of_scores < 1:
        counts += "; a tenth of it is for intervals"
    guarantee = Guarantee(promise, trust=design.trusted, numerics="unknown").in_words()
    heads = ("plan", "with privacy", "without")
    return Plan(
        title=f"Plan of {design.of.what}: {title}",
        opening=f"{design.of.seen[design.trusted]} epsilon counts for {counts}.",
        columns={head: [row[place] for row in rows] for place, head in enumerate(heads)},
        paragraphs=(_reached(design, epsilon, facts["users_needed"]), guarantee, how),
        facts=facts,
        warnings=about_delta(design.delta, users, "user"),
    )


def _reached(design: _Design, epsilon: float, needed: int | None) -> str:
    """How the target is reached: by so many users, or by this ε."""
    if design.target is None:
        return "Give a `target` in place of `users` or `epsilon` to get these."
    goal = f"a {design.errors[design.goal]} of at most {design.target:g}"
    goal += f", with probability {design.certainty:g}" if design.certainty else ", on average"
    if needed is None:
        return f"For {goal}, {design.users:,} users may each have epsilon = {epsilon:.3g}."
    more = max(needed - (design.users or 0), 0)
    return f"For {goal}: {more:,}{' more' if design.users else ''} users."


def _text(value: float, error: float | None) -> str:
    kind, beside = (",", ",.0f") if isinstance(value, int) else (".3g", ".1g")
    return f"{value:{kind}} ± {'unknown' if error is None else f'{error:{beside}}'}"


def _of_answers(design: _Design, found: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The paper's meter of information, and its rate: rows of the table, and facts."""
    from privrank_jax._quickly import quickly
    from privrank_jax.jobs.plan_worlds import asked
    from privrank_jax.pairwise.report_theory import local_rate
    from privrank_jax.privacy.local import report_information

    local = asked(design, found["users"], found["epsilon"])
    if design.trusted == "shuffled":
        facts = {"local_epsilon": local}
        name, epsilon = "epsilon of an answer, for those who see its sender", local
    else:
        epsilon = local * max(design.answers_per_user, 1.0)
        facts = {"epsilon_per_user": epsilon}
        name = f"epsilon of a user with about {design.answers_per_user:.4g} answers"
    informed = found["users"] * float(quickly(report_information, local))
    rate = float(quickly(local_rate, design.items, informed, design.share_observed))
    rows = [
        (name, f"{epsilon:.3g}", ""),
        ("users whose answers without randomization say as much", f"{informed:,.1f}", ""),
        ("rate that is proven, 1/√(items · share of pairs · these users)", f"{rate:.3g}", ""),
    ]
    return rows, {**facts, "effective_users": informed, "rate": rate}


def _of_rankings(design: _Design, found: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The bounds that are proven on the mean cost of methods, whatever the users prefer; other rules have none."""
    from privrank_jax.aggregation import proven_errors

    told = {"trust": "central", "method": design.method}
    solving = [name for name, one in CONSENSUS.items() if one.solves]
    names = ("method", "noise", "ratio", "additive", "order", "source", "remark")
    promise = design.promise(found["epsilon"])
    methods = [
        {name: getattr(row, name) for name in names} | {"proven_cost": row.cost()}
        for row in proven_errors(design.items, found["users"], promise, **told)
        if design.rule not in RULES or row.method not in solving
    ]
    methods.sort(key=lambda one: (one["proven_cost"], one["additive"]))
    proven = "proven of {method} ({noise}): mean cost at most"
    rows = [
        (proven.format_map(one), f"{one['proven_cost']:.3g}", "")
        for one in methods
        if one["proven_cost"] < design.pairs
    ]
    return rows, {"method": design.named, "methods": methods}


_BESIDE = {"survey": _of_answers, "consensus": _of_rankings}
