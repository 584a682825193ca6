"""Rules about files: their size, their names and their tests."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

from tests.sources import PACKAGE, ROOT, TESTS, Module, modules

MOST_LINES = 420


def long_files() -> list[str]:
    """Files of the package and of the tests beyond ``MOST_LINES``."""
    paths = [*PACKAGE.rglob("*.py"), *TESTS.rglob("*.py")]
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(paths)}
    return [f"{p.relative_to(ROOT)}: {n} lines" for p, n in sizes.items() if n > MOST_LINES]


# Names that several packages use for the same part, and names of one thing in two roles: the mechanism and its exact
# twin, the option and what is behind it, the algorithm and its study or picture.
REPEATED = {
    "attack",
    "bounds",
    "claims",
    "command",
    "common",
    "comparisons",
    "entropy",
    "exponential",
    "input",
    "intervals",
    "ledger",
    "local",
    "methods",
    "one_pair",
    "one_shot",
    "perturbed_mle",
    "pictures",
    "printed",
    "private_design",
    "promise",
    "rankings",
    "real",
    "registry",
    "reports",
    "request",
    "result",
    "selection",
    "shuffled_pairs",
    "source",
    "synthetic",
}


def repeated_names() -> list[str]:
    """Files of the package that share a name, unless ``REPEATED`` lists it."""
    places: dict[str, list[str]] = {}
    for module in modules().values():
        if not module.is_package:
            places.setdefault(module.path.stem, []).append(str(module))
    shared = {name: found for name, found in places.items() if len(found) > 1}
    wrong = [
        f"{name}: {', '.join(found)}" for name, found in shared.items() if name not in REPEATED
    ]
    gone = sorted(REPEATED - set(shared))
    return wrong + [f"REPEATED lists {name}, which no two files share" for name in gone]


_STEMS = (
    "anonym author categor central character custom discret emphas equal factor final general harmon initial linear "
    "local marginal material maxim memor minim neutral normal optim organ parametr penal privat quant random rational "
    "recogn regular serial special stabil standard summar symmetr synthes util vector visual"
)
_BRITISH = re.compile(
    rf"({'|'.join(_STEMS.split())})is(e|ing|ation)"
    r"|artefact|behaviour|cancelled|catalogue|centre|colour|favour|fulfil(?!l)|grey|judgement|labell|licence|metre"
    r"|modell|neighbour|spelt|towards|travell|upwards"
)


def british_spelling() -> list[str]:
    """Names in the package and the tests that are not spelled as in American English."""
    texts = {str(module): module.text for module in modules().values()}
    texts |= {str(p.relative_to(ROOT)): p.read_text("utf-8") for p in TESTS.rglob("*.py")}
    return sorted(f"{where}: {name}" for where, text in texts.items() for name in _british(text))


@functools.cache
def _british(text: str) -> set[str]:
    words = set(re.findall(r"\w+", text.lower()))
    if not any(map(_is_british, words)):
        return set()  # no need to parse: its names are among its words
    names = {
        getattr(node, kind, None)
        for node in ast.walk(ast.parse(text))
        for kind in ("id", "arg", "attr", "name")
    }
    return {name for name in names if isinstance(name, str) and _is_british(name.lower())}


@functools.cache
def _is_british(word: str) -> bool:
    return _BRITISH.search(word) is not None


def test_file(module: Module) -> Path:
    """Where the tests of a module stand: the mirrored folder, without leading underscores."""
    *folders, name = module.name.split(".")
    return TESTS.joinpath(*(folder.lstrip("_") for folder in folders), f"test_{name.strip('_')}.py")


def untested() -> list[str]:
    """Modules without a test file of their name in the mirrored folder, or with one that has no test.

    Packages' own ``__init__`` only say what they export; that importing them is cheap is tested in ``test_house.py``.
    """
    wrong = []
    for module in modules().values():
        if module.is_package:
            continue
        path = test_file(module)
        if not path.exists():
            wrong.append(f"{module}: no {path.relative_to(ROOT)}")
        elif "def test_" not in path.read_text(encoding="utf-8"):
            wrong.append(f"{module}: {path.relative_to(ROOT)} has no test")
    return wrong


def tests_that_import_tests() -> list[str]:
    """Test files that take something from another one: it belongs into a module that both import."""
    wrong = []
    for path in sorted(TESTS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if ".test_" in text else ():
            if isinstance(node, ast.ImportFrom) and ".test_" in (node.module or ""):
                wrong.append(f"{path.relative_to(ROOT)} imports {node.module}")
    return wrong
