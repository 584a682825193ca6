"""How commands spell the arguments that messages of the library name: the only table from Python's names to options.

A message names an argument in backticks, or with a value: leave `noise` out, or take adjacency='flip'.
"""

from __future__ import annotations

import ast
import re
import shlex

_OPTIONS = {
    "bounds": "--covariate",
    "covariates": "--covariate",
    "contributions": "--max-per-user",
    "k": "--top-k",
    "key": "--simulate",
    "num_users": "--users",
    "weight_most": "--weight",
}
_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_VALUE = rf"{_TEXT}|\[(?:{_TEXT}|[^]'\"])*\]|\([^)]*\)|None|True|-?\d+(?:\.\d+)?(?:e-?\d+)?"
_NAMED = re.compile(rf"(?<![\w.'\"=])([a-z][a-z_]*)=({_VALUE})(?![\w'\"])|`([a-z][a-z_]*)`")


def options_of(message: str) -> str:
    """A message of the library as the user of a command reads it.

    >>> options_of("leave `noise` out, or take adjacency='flip', `contributions` or user=None")
    'leave --noise out, or take --adjacency flip, --max-per-user or --user none'
    >>> options_of("say items=['A 1', 'B'], `winner` or left='a b'")
    "say --items 'A 1,B', --winner or --left 'a b'"
    """
    return _NAMED.sub(_spelled, message)


def _spelled(found: re.Match[str]) -> str:
    name, written, alone = found.groups()
    if alone is not None:
        return option_of(alone)
    if found[0] == "kind='approvals'":
        return "--approvals"
    try:
        return option_of(name, ast.literal_eval(written))
    except (ValueError, SyntaxError):
        return found[0]


def option_of(name: str, value: object = True) -> str:
    """The option of an argument, with a value that it should have.

    >>> option_of("top_k"), option_of("contributions"), option_of("user", None)
    ('--top-k', '--max-per-user', '--user none')
    """
    option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
    if value is True:
        return option
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return f"{option} {'none' if value is None else shlex.quote(text)}"
