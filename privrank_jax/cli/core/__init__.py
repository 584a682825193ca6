"""Shared by the commands that release something: requests, checks, entropy, results, the ledger."""
