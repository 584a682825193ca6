"""Naive twins of distances between rankings, and of their correlation."""

from __future__ import annotations


def kendall_distance(a, b, mask=None):
    """Number of pairs of kept items that the two rankings order differently."""
    kept = [i for i in range(len(a)) if mask is None or mask[i]]
    count = 0
    for i in kept:
        for j in kept:
            if i < j and (a[i] - a[j]) * (b[i] - b[j]) < 0:
                count += 1
    return count


def kendall_correlation(a, b, mask=None):
    """τ_b: concordant less discordant pairs, over the root of the pairs untied in a times those untied in b."""
    kept = [i for i in range(len(a)) if mask is None or mask[i]]
    agreement = untied_a = untied_b = 0
    for place, i in enumerate(kept):
        for j in kept[:place]:
            gap_a, gap_b = int(a[i]) - int(a[j]), int(b[i]) - int(b[j])
            agreement += (gap_a * gap_b > 0) - (gap_a * gap_b < 0)
            untied_a += gap_a != 0
            untied_b += gap_b != 0
    return agreement / (untied_a * untied_b) ** 0.5 if untied_a * untied_b else float("nan")


def spearman_footrule(a, b, mask=None):
    """Sum of the absolute differences in rank of kept items."""
    return sum(abs(int(a[i]) - int(b[i])) for i in range(len(a)) if mask is None or mask[i])


def top_k_error(a, b, k, mask=None):
    """1 − |overlap| / k of the sets of kept items ranked 0..k-1."""
    kept = [i for i in range(len(a)) if mask is None or mask[i]]
    top_a = {i for i in kept if a[i] < k}
    top_b = {i for i in kept if b[i] < k}
    return 1 - len(top_a & top_b) / min(k, len(kept))
