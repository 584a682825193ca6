"""Naive twins of distances between rankings."""

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


def spearman_footrule(a, b, mask=None):
    """Sum of the absolute differences in rank of kept items."""
    return sum(abs(int(a[i]) - int(b[i])) for i in range(len(a)) if mask is None or mask[i])


def top_k_error(a, b, k, mask=None):
    """1 − |overlap| / k of the sets of kept items ranked 0..k-1."""
    kept = [i for i in range(len(a)) if mask is None or mask[i]]
    top_a = {i for i in kept if a[i] < k}
    top_b = {i for i in kept if b[i] < k}
    return 1 - len(top_a & top_b) / min(k, len(kept))
