"""What a GPU has to do for a program, read off the text that XLA compiled: kernels to launch, bytes to move, waits."""

from __future__ import annotations

import collections
import dataclasses
import re
from collections.abc import Iterator

BYTES = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "bf16": 2, "f16": 2, "s32": 4, "u32": 4}
BYTES |= {"f32": 4, "s64": 8, "u64": 8, "f64": 8, "c64": 8, "c128": 16}
# These move nothing, or only say that something is done; what is begun asynchronously is counted where it begins.
FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"}
PARTS = {"slice", "dynamic-slice", "gather"}  # they read as many bytes as they write

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
_INSTRUCTION = re.compile(
    r"^\s+(ROOT )?%?([\w.\-]+) = (\(.*?\)|[^ ]+) ([\w\-]+)\((.*?)\)(?:, (.*))?$"
)
_ARRAY = re.compile(r"(\w+)\[([\d,]*)\]")


@dataclasses.dataclass
class Work:
    """What a program asks of a GPU.

    Attributes:
        launches: kernels and calls of libraries; those in a loop of known length count each turn, in others once.
        traffic: bytes that these read and write, however near their memory is.
        waits: loops whose end the host learns from the GPU in each turn, and branches that it chooses.
    """

    launches: int = 0
    traffic: int = 0
    waits: int = 0


@dataclasses.dataclass(frozen=True)
class Instruction:
    """A line of a program; what follows its operands is ``rest``."""

    root: bool
    name: str
    shape: str
    kind: str
    operands: list[str]
    rest: str

    def named(self, attribute: str) -> list[str]:
        """Computations that an attribute names."""
        found = re.search(rf"\b{attribute}=\{{?([^,}} ]+(?:, %[^,}} ]+)*)\}}?", self.rest)
        return [] if found is None else [name.strip(" %") for name in found[1].split(",")]


def work_of(text: str) -> Work:
    """The work of an optimized module for a GPU, as ``compiled.as_text()`` prints it."""
    computations, entry = _parsed(text)
    work = Work()
    _add(work, computations, entry, 1)
    return work


def size(shape: str) -> int:
    """Bytes of an array, or of all in a tuple.

    >>> size("f32[10,3]{1,0}"), size("(s8[4], pred[])")
    (120, 5)
    """
    total = 0
    for kind, extents in _ARRAY.findall(shape):
        number = BYTES.get(kind, 0)
        for extent in filter(None, extents.split(",")):
            number *= int(extent)
        total += number
    return total


def _parsed(text: str) -> tuple[dict[str, list[Instruction]], str]:
    computations: dict[str, list[Instruction]] = {}
    here, entry = "", ""
    for line in text.splitlines():
        if head := _COMPUTATION.match(line):
            here = head[2]
            computations[here] = []
            entry = here if head[1] else entry
        elif found := _INSTRUCTION.match(line):
            root, name, shape, kind, operands, rest = found.groups()
            names = re.findall(r"%([\w.\-]+)", operands)
            computations[here].append(Instruction(bool(root), name, shape, kind, names, rest or ""))
    return computations, entry


def _add(work: Work, computations: dict[str, list[Instruction]], name: str, turns: int) -> None:
    shapes: dict[str, str] = {}
    for instruction in computations[name]:
        shapes[instruction.name] = instruction.shape
        kind = instruction.kind
        if kind in FREE or kind.endswith(("-done", "-update")):
            continue
        if kind == "while":
            known = re.search(r'"known_trip_count":\{"n":"(\d+)"', instruction.rest)
            work.waits += known is None
            inside = turns * (int(known[1]) if known else 1)
            for part in instruction.named("body") + instruction.named("condition") * (not known):
                _add(work, computations, part, inside)
        elif kind == "conditional":
            work.waits += 1
            for part in _branches(instruction):
                _add(work, computations, part, turns)
        elif kind == "call":
            _add(work, computations, *instruction.named("to_apply"), turns)
        else:
            work.launches += turns
            work.traffic += turns * _moved(computations, instruction, shapes)


def _branches(instruction: Instruction) -> Iterator[str]:
    for attribute in ("branch_computations", "true_computation", "false_computation"):
        yield from instruction.named(attribute)


def _moved(
    computations: dict[str, list[Instruction]], instruction: Instruction, shapes: dict[str, str]
) -> int:
    """Bytes that a kernel reads and writes."""
    if instruction.kind != "fusion":
        read = sum(size(shapes[name]) for name in instruction.operands)
        return size(instruction.shape) + read
    return _moved_inside(computations[instruction.named("calls")[0]])


def _moved_inside(body: list[Instruction]) -> int:
    """Bytes that a fusion reads and writes: one that only takes parts of an array reads these, and one that puts a part
    into its place writes that."""
    shape = {inner.name: inner.shape for inner in body}
    source = {inner.name: inner.name for inner in body}
    readers: dict[str, list[Instruction]] = collections.defaultdict(list)
    for inner in body:
        if inner.kind == "bitcast":
            source[inner.name] = source[inner.operands[0]]
            continue
        for operand in set(inner.operands):
            readers[source[operand]].append(inner)
    root = next(inner for inner in body if inner.root)
    in_place, moved = "", size(root.shape)
    if root.kind == "dynamic-update-slice":
        in_place, moved = source[root.operands[0]], size(shape[root.operands[1]])
    for inner in body:
        if inner.kind == "parameter" and inner.name != in_place:
            moved += min(size(inner.shape), _taken(inner, readers[inner.name], source))
    return moved


def _taken(array: Instruction, readers: list[Instruction], source: dict[str, str]) -> int:
    """Bytes that those who read an array take of it, at most; the whole array for who does not take a part."""
    parts = (
        reader.kind in PARTS and source[reader.operands[0]] == array.name for reader in readers
    )
    return sum(size(reader.shape if part else array.shape) for reader, part in zip(readers, parts))
