"""What the commands that release something share: requests, checks, entropy, results, the ledger."""
