"""What is asked of :func:`privrank_jax.rank`: one value that its models share, checked before any data are read."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from privrank_jax._neighbors import COMPARISON_UNITS, SHAPED_ADJACENCIES
from privrank_jax._promise import SHAPED_NOISES, Privacy
from privrank_jax._validate import check_choice
from privrank_jax.jobs.checks import check_noise, check_top_k, refuse
from privrank_jax.jobs.mechanisms import MECHANISMS
from privrank_jax.jobs.methods import RANK

CHOICES = {
    "link": ("logistic", "laplace", "normal"),
    "intervals": ("auto", "none"),
    "method": tuple(RANK),
    "ties": ("half", "davidson"),
}
"""By argument the names that it takes."""
MODELS = {
    "comparisons": ("noisy-counts", "perturbed-mle"),
    "ties": ("noisy-tie-counts", "perturbed-davidson"),
    "covariates": ("covariate-sums", "perturbed-covariates"),
    "covariates and ties": ("covariate-ties", "perturbed-covariates"),
    "choices": ("noisy-choices", "perturbed-choices"),
}
"""By model the mechanisms of scores: noise on what is counted where the design is public, else in the objective."""
_MOST_PER_USER = 2**31 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """The arguments of :func:`privrank_jax.rank`, but for the data, the promise and the randomness."""

    method: str = "scores"
    noise: str | None = None
    link: str = "logistic"
    ties: str = "half"
    gamma: float | None = None
    max_per_item: int | None = None
    bounds: Mapping[str, tuple[float, float] | None] = dataclasses.field(default_factory=dict)
    weight_most: float | None = None
    top_k: int | None = None
    level: float = 0.95
    intervals: str = "auto"

    def check(
        self,
        privacy: Privacy | None,
        *,
        covariates: bool = False,
        weighted: bool = False,
        choices: bool = False,
    ) -> None:
        """Refuse what does not go together, before any data are read: raises ``ValueError``."""
        self.check_scores()
        if self.noise is not None:
            check_choice("`noise`", self.noise, SHAPED_NOISES)
        davidson, most = self.ties == "davidson", self.weight_most
        usual = (self.method, self.link) == ("scores", "logistic")
        refuse(
            (davidson or covariates) and not usual,
            "covariates and ties='davidson' are fitted with scores of the logistic link: leave `method`, `link` out.",
            self.bounds and not covariates,
            "`bounds` are of covariates, of which the data have none.",
            most is not None and not (weighted and 0 < most < math.inf),
            "`weight_most` must be positive and finite, of data with weights.",
            weighted and (covariates or davidson),
            "weights go neither with covariates nor with ties='davidson'.",
            self.max_per_item is not None and (privacy is None or self.max_per_item < 1),
            "`max_per_item` lowers privacy noise, and must be at least 1.",
            choices and (davidson or self.link != "logistic" or self.max_per_item is not None),
            "choices from sets are fitted by the Plackett-Luce model: leave `ties`, `link` and `max_per_item` out.",
            choices and self.lists,
            f"{self.method} is for comparisons: take method='counts', which publishes all counts.",
        )
        if privacy is not None:
            self._check_private(privacy, self.model(covariates, choices), weighted)

    def _check_private(self, privacy: Privacy, model: str, weighted: bool) -> None:
        check_choice("`unit`", privacy.unit, COMPARISON_UNITS)
        check_noise(privacy, self.noise)
        check_top_k(self.top_k, needed_by=self.method if self.lists else "")
        flips, of_users = privacy.adjacency == "flip", privacy.unit == "user"
        mechanism = self.mechanism(privacy, model, weighted)
        unknown = ", ".join(name for name, ends in self.bounds.items() if ends is None)
        bounds_item = self.lists or (mechanism == "noisy-counts" and self.noise == "gaussian")
        refuse(
            privacy.contributions is not None and privacy.contributions > _MOST_PER_USER,
            f"`contributions` must be at most {_MOST_PER_USER:,}; the noise grows with it, so use what users give.",
            self.method == "scores" and self.gamma == 0,
            "`gamma` must be positive under privacy; leave it out for a good default.",
            unknown and not flips,
            f"say `bounds` of {unknown}, a range known without the data, such as (-3, 3); or take adjacency='flip' if "
            "covariates are public.",
            weighted and (self.method != "scores" or flips),
            "weights are for scores under adjacency='replace' or 'add-remove', and for none without privacy.",
            weighted and self.weight_most is None,
            "a largest weight, `weight_most`, is needed that is known without the data, such as 10.",
            self.max_per_item is not None and not (bounds_item and of_users),
            "`max_per_item` lowers noise for unit='user' and `top_k` items alone, or noise='gaussian' on counts.",
            self.noise == "k-norm" and not self.shapes_noise(privacy, mechanism),
            "noise='k-norm' is for win totals: it needs unit='user', the logistic link, adjacency='flip' or 'replace', "
            "no covariates, and ties as half wins.",
            self.noise not in (None, *MECHANISMS[mechanism].noises, "k-norm"),
            "lists, and these scores of a private design, have one kind of noise: leave `noise` and `delta` out.",
        )

    def check_scores(self) -> None:
        """Refuse invalid arguments of scores, whether fitted to answers or to randomized reports."""
        for name, choices in CHOICES.items():
            check_choice(f"`{name}`", getattr(self, name), choices)
        check_top_k(self.top_k)
        refuse(
            not 0 < self.level < 1,
            f"`level` must lie between 0 and 1, got {self.level:g}.",
            self.gamma is not None and not 0 <= self.gamma < math.inf,
            f"`gamma` must be finite and at least 0, got {self.gamma}.",
        )

    def model(self, covariates: bool = False, choices: bool = False) -> str:
        """The name of the model of answers, one of :data:`MODELS`."""
        told = ["covariates"] * covariates + ["ties"] * (self.ties == "davidson")
        return "choices" if choices else " and ".join(told) or "comparisons"

    def mechanism(self, privacy: Privacy, model: str = "", weighted: bool = False) -> str:
        """Name of the mechanism in the table of mechanisms; of the model of comparisons, unless another is given."""
        if self.lists:
            return RANK[self.method].mechanism("central")
        model = model or self.model()
        public, private = MODELS[model]
        # Where it is public who compared what, noise on the totals is enough for a fit.
        fits = model != "comparisons" or self.fits_totals(weighted)
        on_counts = self.method == "counts" or (fits and privacy.adjacency == "flip")
        return public if on_counts else private

    @property
    def lists(self) -> bool:
        """Whether the ``top_k`` best items alone are published."""
        return RANK[self.method].lists

    def fits_totals(self, weighted: bool) -> bool:
        """Whether scores are fitted to noisy win totals where it is public how often each pair was compared."""
        return self.method == "scores" and self.link == "logistic" and not weighted

    def fits_questionnaire(self, privacy: Privacy, weighted: bool) -> bool:
        """Whether they are, where only the questions are public."""
        of_users = privacy.kind == ("user", "replace")
        return of_users and self.fits_totals(weighted) and self.ties == "half"

    def shapes_noise(self, privacy: Privacy, mechanism: str, weighted: bool = False) -> bool:
        """Whether K-norm noise serves, if the data say which pairs all users were asked."""
        shaped = privacy.unit == "user" and privacy.adjacency in SHAPED_ADJACENCIES
        by_questions = mechanism == "perturbed-mle" and self.fits_questionnaire(privacy, weighted)
        drawn = "noisy-counts" if by_questions else mechanism
        return shaped and "k-norm" in MECHANISMS[drawn].noises
