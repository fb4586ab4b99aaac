"""Random sums of products of bytes as source text: sizes, layouts, orders, and types of bytes."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

INDENT = "    "


@dataclass(frozen=True)
class ByteSums:
    """The text of a module with the procedure `fuzzed`, and the lanes to block it for."""

    text: str
    lanes: int


@st.composite
def byte_sums(draw: st.DrawFn) -> ByteSums:
    """Products of matrices, of many, or convolutions along a dimension."""
    kinds = draw(st.tuples(*[st.sampled_from(["i8", "ui8"])] * 2))
    sizes = {"i": draw(st.integers(2, 20)), "j": draw(st.integers(5, 70))}
    sizes["k"] = draw(st.integers(4, 90))
    first, second = [["i"], ["k"]], draw(st.permutations([["j"], ["k"]]))
    result = [["i"], ["j"]]
    match draw(st.sampled_from(["plain", "batched", "moved"])):
        case "batched":
            sizes["b"] = draw(st.integers(2, 3))
            first, second, result = ([["b"], *rest] for rest in (first, second, result))
        case "moved":
            sizes["b"] = draw(st.integers(2, 3))
            first[0], second = ["i", "b"], [["b"], *second]
    args, reads = [], []
    for name, kind, places in (
        ("C", "i32", result),
        ("A", kinds[0], first),
        ("B", kinds[1], second),
    ):
        off = [draw(st.sampled_from([0, 0, 1, 3])) for _ in places]
        behind = [draw(st.sampled_from([0, 0, 2])) for _ in places]
        shape = [
            sum(sizes[loop] - 1 for loop in each) + 1 + o + b
            for each, o, b in zip(places, off, behind, strict=True)
        ]
        args.append(f"{name}: {kind}[{', '.join(map(str, shape))}]")
        index = [" + ".join([*each, str(o)]) for each, o in zip(places, off, strict=True)]
        reads.append(f"{name}[{', '.join(index)}]")
    first_lines = ["x: i32", f"x = {reads[1]}"], ["y: i32", f"y = {reads[2]}"]
    lines = [line for each in draw(st.permutations(first_lines)) for line in each]
    if draw(st.booleans()):
        lines.sort(key=lambda line: "=" in line)
    lines.append(f"{reads[0]} += {draw(st.sampled_from(['x * y', 'y * x']))}")
    loops = draw(st.permutations(sorted(sizes)))
    text = ["from __future__ import annotations", "from exo import proc", "@proc"]
    text.append(f"def fuzzed({', '.join(args)}):")
    for depth, loop in enumerate(loops, 1):
        text.append(f"{INDENT * depth}for {loop} in seq(0, {sizes[loop]}):")
    text += [INDENT * (len(loops) + 1) + line for line in lines]
    return ByteSums("\n".join(text) + "\n", draw(st.sampled_from([8, 16])))
