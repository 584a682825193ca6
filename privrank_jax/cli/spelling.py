"""How commands spell the arguments that messages of the library name.

A message names an argument in backticks, or with a value: leave `noise` out, or take adjacency='flip'. This is the only
place that knows the options which differ from the names of arguments.
"""

from __future__ import annotations

import ast
import re
import shlex

_OPTIONS = {
    "bounds": "--covariate",
    "covariates": "--covariate",
    "contributions": "--max-per-user",
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
        value = ast.literal_eval(written)
    except (ValueError, SyntaxError):
        return found[0]
    if value is True:
        return option_of(name)
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    text = "none" if value is None else str(value)
    return f"{option_of(name)} {shlex.quote(text)}"


def option_of(name: str) -> str:
    """The option of an argument.

    >>> option_of("top_k"), option_of("contributions")
    ('--top-k', '--max-per-user')
    """
    return _OPTIONS.get(name, f"--{name.replace('_', '-')}")
