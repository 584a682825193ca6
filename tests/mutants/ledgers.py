"""Mutants of the ledger: what is spent, what is refused, and what is on disk before a result is shown."""

from __future__ import annotations

from tests.mutants.mutant import mutants_of

LEDGERS = (
    *mutants_of(
        "release/ledger.py",
        "tests/release/test_ledger.py",
        ("                self.check(privacy)\n", ""),
        ("if asked[0] > left[0] or asked[1] > left[1]:", "if asked[0] > left[0]:"),
        ("asked[0] > left[0] or asked[1]", "asked[0] >= left[0] or asked[1]"),
        ("asked[0] > left[0] or", "asked[0] > 2 * left[0] or"),
        ("        why = self._lacks(promised)\n", '        why = ""\n'),
        ("        return promised.lacks(budget)\n", "        return promised.lacks(budget.neighbors)\n"),
        ("epsilon = EXACT.add(epsilon, amount", "epsilon = max(epsilon, amount"),
        ("delta = EXACT.add(delta, amount", "delta = max(delta, amount"),
        ('execute("COMMIT")', 'execute("ROLLBACK")'),
    ),
    *mutants_of(
        "release/ledger.py",
        "tests/release/test_ledger_processes.py",
        ('execute("BEGIN IMMEDIATE")', 'execute("BEGIN")'),
    ),
    *mutants_of(
        "release/ledger.py",
        ("tests/release/test_ledger_file.py", "tests/release/test_edges.py"),
        ("if not hmac.compare_digest(fingerprint(key, sha256), known):", "if not known:"),
        ("if min(epsilon, delta) < 0:", "if epsilon < 0 and delta < 0:"),
        ("if version != VERSION:", "if version > VERSION:"),
        ("if application != APPLICATION:", "if not application:"),
        ('if found != "ok":', "if not found:"),
        ('"PRAGMA synchronous = FULL"', '"PRAGMA synchronous = OFF"'),
        ('"PRAGMA fullfsync = ON"', '"PRAGMA fullfsync = OFF"'),
        ("SET state = 'printed' WHERE number = ?", "SET state = 'spent' WHERE number = ?"),
        ("for cell in row[numbers:]", "for cell in row[numbers + 1 :]"),
    ),
    *mutants_of(
        "release/ledger_file.py",
        ("tests/release/test_ledger_file.py", "tests/release/test_ledger.py"),
        ("os.O_RDWR, 0o600", "os.O_RDWR, 0o644"),
        ("os.O_CREAT | os.O_EXCL | os.O_RDWR", "os.O_CREAT | os.O_RDWR"),
        ("BEFORE DELETE ON spends", "BEFORE DELETE ON spends WHEN 0"),
        ("BEFORE DELETE ON ledger", "BEFORE DELETE ON ledger WHEN 0"),
        ("BEFORE UPDATE ON ledger", "BEFORE UPDATE ON ledger WHEN 0"),
        ("number, time, command, method, epsilon, delta, unit, adjacency", "number, time, command, method"),
        ("WHEN NEW.state <> 'printed'", "WHEN 0"),
        ("in_range = 0 < float(number) < math.inf", "in_range = 0 <= float(number) < math.inf"),
        ("EXACT = Context(prec=1200, traps=[Inexact, InvalidOperation, Overflow])", "EXACT = Context(prec=28)"),
        ('if "ties" in budget.public:', "if not budget.unit:"),
        ("hmac.new(bytes.fromhex(key), sha256", 'hmac.new(b"", sha256'),
        ("key = secrets.token_hex(32)", 'key = "0" * 64'),
        ("        _BETWEEN.join(privacy.public),\n", '        "",\n'),
        ('"" if most is None else str(int(most))', '""'),
        ("        privacy.users,\n", '        "",\n'),
        (', amount(privacy.delta, "delta", zero=True)', ", Decimal(0)"),
    ),
    *mutants_of(
        "cli/ledger.py",
        "tests/cli/test_ledger.py",
        ('"flip" if _holds_preferences(data) else', '"flip" if data else'),
    ),
)  # fmt: skip
