"""Command lines that release by mechanisms, by the names of their audits, without FILE, ``--epsilon`` and ``--out``.

Each is replayed on neighboring files (:mod:`tests.replays.replay`). After a bar stands what a further
command adds to the first one of its line.
"""

from __future__ import annotations

_GAUSSIAN = "--noise gaussian --delta 1e-6"
_MLE = "rank --method mle --adjacency flip"
_POINTS = "--ratings 1:4 --points 1-4"
_LINES = f"""
noisy-counts: rank --method counts --unit comparison | --adjacency flip
noisy-counts-add-remove: rank --method counts --unit comparison --adjacency add-remove
noisy-counts-add-remove: rank --method counts --max-per-user 2 --adjacency add-remove
noisy-counts-users: rank --method counts --max-per-user 2 | --adjacency flip | --top-k 2
noisy-counts-users: rank --method scores --max-per-user 2 --adjacency flip
noisy-counts-users: rank --unit comparison --adjacency flip
perturbed-mle: rank --method scores --max-per-user 2 --adjacency flip --link laplace
perturbed-mle-replace: rank --unit comparison
perturbed-mle-users: rank --max-per-user 2 | --top-k 2 | {_GAUSSIAN}
perturbed-mle-laplace-link: rank --max-per-user 2 --adjacency add-remove --link laplace
perturbed-mle-laplace-link: rank --max-per-user 2 --adjacency add-remove
noisy-design: rank --unit comparison --method scores
covariate-sums: {_MLE} --unit comparison --side left --covariate length
covariate-sums: {_MLE} --unit comparison --side left --covariate-group judge
covariate-sums-users: {_MLE} --max-per-user 2 --side left --covariate length:-1:2
covariate-sums-gaussian: {_MLE} --max-per-user 2 --side left --covariate length {_GAUSSIAN}
covariate-ties: {_MLE} --unit comparison --side left --covariate length --ties davidson
covariate-ties-users: {_MLE} --max-per-user 2 --side left --covariate length:-1:2 --ties davidson
covariate-ties-gaussian: {_MLE} --max-per-user 2 --side left --covariate length --ties davidson {_GAUSSIAN}
noisy-tie-counts: rank --method mle --unit comparison --adjacency flip --ties davidson
noisy-tie-counts-users: rank --method mle --max-per-user 2 --adjacency flip --ties davidson
noisy-tie-counts-gaussian: rank --method mle --max-per-user 2 --adjacency flip --ties davidson {_GAUSSIAN}
noisy-choices: rank --method mle --unit comparison --adjacency flip
noisy-choices-users: rank --max-per-user 2 --method mle --adjacency flip
noisy-choices-users: rank --max-per-user 2
noisy-counts-gaussian: rank --method counts --unit comparison {_GAUSSIAN}
noisy-counts-gaussian-users: rank --method counts --max-per-user 2 {_GAUSSIAN}
noisy-counts-gaussian-users: rank --max-per-user 2 --adjacency flip {_GAUSSIAN}
noisy-counts-gaussian-add-remove: rank --method counts --max-per-user 2 --adjacency add-remove {_GAUSSIAN}
perturbed-covariates: rank --unit comparison --side left --covariate length:-1:2
perturbed-covariates: rank --max-per-user 2 --side left --covariate length:-1:2
perturbed-covariates: rank --max-per-user 2 --adjacency add-remove --side left --covariate length:-1:2
perturbed-covariate-ties: rank --max-per-user 2 --ties davidson --side left --covariate length:-1:2
perturbed-davidson: rank --max-per-user 2 --ties davidson | --adjacency add-remove
perturbed-davidson: rank --unit comparison --ties davidson
perturbed-choices: rank --max-per-user 2 --method scores | --adjacency add-remove
perturbed-choices: rank --unit comparison --method scores
one-shot-top-k: rank --method one-shot --top-k 1 --max-per-user 2
one-shot-top-k: rank --method one-shot --top-k 1 --unit comparison
one-shot-top-k: rank --method one-shot --top-k 2 --max-per-user 2 | --adjacency add-remove | --adjacency flip
one-shot-top-k: aggregate --method one-shot --top-k 1 {_POINTS}
one-shot-top-k: aggregate --method one-shot --top-k 2 {_POINTS} --limit 1 --adjacency add-remove
canonical-top-k: rank --method canonical --top-k 2 --max-per-user 2 | --max-per-item 1 | --adjacency add-remove
canonical-top-k: rank --method canonical --top-k 1 --unit comparison --adjacency flip
canonical-top-k: rank --method top-k --top-k 2 --max-per-user 2
canonical-top-k: aggregate --method canonical --top-k 1 {_POINTS}
canonical-top-k: aggregate --method canonical --top-k 2 {_POINTS} --limit 1
canonical-top-k: aggregate --method top-k --top-k 2 {_POINTS} --adjacency add-remove
dp-borda: aggregate --method borda | --missing unknown | {_GAUSSIAN}
dp-borda-laplace: aggregate --method borda --noise laplace
dp-borda-add-remove: aggregate --method borda --adjacency add-remove
dp-borda-add-remove-laplace: aggregate --method borda --adjacency add-remove --noise laplace
noise-all: aggregate --method noise-all | {_GAUSSIAN} --missing unknown --rule borda
noise-all-laplace: aggregate --method noise-all --noise laplace --rule copeland --matrix private.json
exponential-kemeny: aggregate --method exponential | --missing unknown
dp-kwiksort: aggregate --method kwiksort | {_GAUSSIAN}
dp-kwiksort-ranking: aggregate --method kwiksort --missing unknown
ldp-borda-subsets: aggregate --method borda --trust local
sub-ranking-weights: aggregate --method noise-all --trust local
sub-ranking-weights: aggregate --method auto --trust local --missing unknown
dp-scores: aggregate --method scores {_POINTS}
dp-scores-plurality: aggregate --method scores {_POINTS} --limit 1 --noise laplace
dp-scores-add-remove: aggregate --method scores {_POINTS} --adjacency add-remove
dp-scores-gaussian: aggregate --method scores {_POINTS} {_GAUSSIAN}
private-weights: aggregate --method weights | --missing unknown --rule ranked-pairs
private-weights: aggregate --method auto
private-weights: aggregate --rule minimax --matrix private.csv
private-weights-gaussian: aggregate --method weights {_GAUSSIAN} --rule schulze --matrix private.csv
private-weights-add-remove: aggregate --method weights --adjacency add-remove
private-weights-add-remove: aggregate --method auto --adjacency add-remove --missing unknown
private-weights-add-remove: aggregate --rule borda --adjacency add-remove --matrix private.csv
dp-footrule: aggregate --method footrule | --missing unknown
dp-footrule-laplace: aggregate --method footrule --noise laplace
dp-footrule-gaussian: aggregate --method footrule {_GAUSSIAN}
shuffled-pair-weights: aggregate --trust shuffled --delta 1e-6
randomized-response: privatize | --ties coin | --drop-user --epsilon-column budget
preference-labels: privatize --unit user | --max-per-user 2 --keep topic
preference-labels: privatize --ties coin --drop-user
preference-labels: privatize --epsilon-column budget
mallows-sample: privatize | --ties coin
mallows-sample-users: privatize --drop-user
mallows-sample-users: privatize --epsilon-column budget
"""

COMMANDS_OF: dict[str, tuple[str, ...]] = {}
"""By the names of rows."""
for _line in _LINES.strip().split("\n"):
    _row, _words = _line.split(": ")
    _first, *_more = _words.split(" | ")
    _all = _first, *(f"{_first} {more}" for more in _more)
    COMMANDS_OF[_row] = (*COMMANDS_OF.get(_row, ()), *_all)
