"""From text to equations."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.exceptions import VisitError

from schedsearch.frontends.equations import syntax as s
from schedsearch.frontends.types import TYPES

DEEPEST = 200
"""Expressions within expressions."""

LARGEST = 2**31 - 1
"""Of numbers in indices and sizes, and of whole numbers as data."""

_WORDS = {
    "ASSIGN": "=, +=, max=, min= or prod=",
    "SUM_SIGN": "+ or -",
    "PRODUCT_SIGN": "* or /",
    "COMPARISON": "a comparison",
    "NUMBER": "a number",
    "NAME": "a name",
    "TEXT": 'a file name in quotes, "a.npy"',
    "_END": "the end of the line",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "MINUS": "-",
    "WHERE": "where",
    "LOAD": "load",
    "SAVE": "save",
}


class _Lines:
    """Drops ends of lines within brackets."""

    always_accept = ("_END",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        depth = 0
        for token in stream:
            depth += (token.type in ("LPAR", "LSQB")) - (token.type in ("RPAR", "RSQB"))
            if token.type == "_END" and depth > 0 and token != ";":
                continue
            yield token


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", postlex=_Lines(), propagate_positions=True)


def parse(text: s.Text) -> tuple[s.Statement, ...]:
    """The statements of a text. Raises UserError for what the grammar does not have, with what was
    expected there."""
    try:
        tree = _parser().parse(text.text + "\n")
        found: tuple[s.Statement, ...] = _Build(text).transform(tree)
    except UnexpectedInput as error:
        _unexpected(text, error)
    except VisitError as error:
        raise error.orig_exc from None
    except RecursionError:
        place = s.Place(1, 1)
        text.refuse(place, "expression", "it is nested too deeply", "write several equations")
    return found


def _unexpected(text: s.Text, error: UnexpectedInput) -> NoReturn:
    line, column, met = error.line, error.column, "the end of the line"
    if isinstance(error, UnexpectedCharacters):
        met = error.char
    elif isinstance(error, UnexpectedToken) and error.token.type == "$END":  # brackets are open
        lines = text.text.rstrip().split("\n")
        line, column = len(lines), len(lines[-1]) + 1
    elif isinstance(error, UnexpectedToken) and error.token != "\n":
        met = str(error.token)
    names = sorted({_WORDS.get(each, each) for each in _accepted(text) - {"$END"}})
    expected = f"expected {', '.join(names[:-1])}{' or ' if names[1:] else ''}{names[-1]}"
    text.refuse(s.Place(line, column), met, "it cannot stand here", expected)


def _accepted(text: s.Text) -> set[str]:
    """What could stand where the parser stopped."""
    parser = _parser().parse_interactive(text.text + "\n")
    try:
        parser.exhaust_lexer()
    except UnexpectedInput:
        pass
    return set(parser.accepts())  # type: ignore[no-untyped-call]


class _Build(Transformer[Token, Any]):
    """The nodes of `syntax.py`, from the parser's tree."""

    def __init__(self, text: s.Text) -> None:
        super().__init__()
        self.text = text
        self.depth: dict[int, tuple[s.Expr, int]] = {}

    def start(self, children: list[Any]) -> tuple[s.Statement, ...]:
        return tuple(children)

    def number(self, children: list[Token]) -> s.Expr:
        [token] = children
        place = _place(token)
        if len(token) > 40:
            self.text.refuse(place, "number", "it has more than 40 digits", "round it")
        value = int(token) if token.isdigit() else float(token)
        if abs(value) > (LARGEST if isinstance(value, int) else 1e300):
            self.text.refuse(
                place, str(token), "it is too large", "write whole data as 1e9, or 1.0"
            )
        return self._node(s.Number(place, value))

    def access(self, children: list[Any]) -> s.Expr:
        name, *index = children
        self._named(name)
        made = s.Access(_place(name), str(name), tuple(each for each in index if each is not None))
        return self._node(made, *made.index)

    def negative(self, children: list[Any]) -> s.Expr:
        [arg] = children
        return self._node(s.Negative(arg.place, arg), arg)

    def binary(self, children: list[Any]) -> s.Expr:
        lhs, op, rhs = children
        return self._node(s.Binary(_place(op), str(op), lhs, rhs), lhs, rhs)

    def call(self, children: list[Any]) -> s.Expr:
        name, *args = children
        return self._node(s.Call(_place(name), str(name), tuple(args)), *args)

    def where(self, children: list[Any]) -> s.Expr:
        lhs, op, rhs, then, other = children
        return self._node(
            s.Where(_place(op), str(op), lhs, rhs, then, other), lhs, rhs, then, other
        )

    def equation(self, children: list[Any]) -> s.Statement:
        target, op, value = children
        word = str(op)[:-1].strip()
        project = word if word in ("max", "min", "prod") else "sum"
        return s.Equation(target.place, target, value, project, word == "+")

    def source(self, children: list[Any]) -> s.Statement:
        target, op, path = children
        if target.index or op != "=":
            self.text.refuse(
                target.place, "load", "a file gives a whole array", 'write A = load("a.npy")'
            )
        return s.Source(target.place, target.name, str(path)[1:-1])

    def sink(self, children: list[Token]) -> s.Statement:
        path, name = children
        return s.Sink(_place(name), str(name), str(path)[1:-1])

    def item(self, children: list[Any]) -> tuple[Token, tuple[s.Expr, ...]]:
        name, *sizes = children
        return name, tuple(each for each in sizes if each is not None)

    def declaration(self, children: list[Any]) -> s.Statement:
        name, *items = children
        self._named(name)
        place = _place(name)
        if name == "out" and not any(sizes or kind in TYPES for kind, sizes in items):
            return s.Outputs(place, tuple(str(each) for each, _ in items))
        kind, sizes = items[0]
        if kind not in (*TYPES, "index"):
            known = ", ".join((*TYPES, "index"))
            self.text.refuse(_place(kind), str(kind), "no type is called that", f"known: {known}")
        if items[1:]:
            self.text.refuse(place, str(name), "it would have two types", "declare one a line")
        return s.Declaration(place, str(name), str(kind), sizes)

    def _named(self, name: Token) -> None:
        if keyword.iskeyword(name):
            self.text.refuse(
                _place(name), str(name), "it is a word of Python", "choose another name"
            )

    def _node(self, made: s.Expr, *within: s.Expr) -> s.Expr:
        depth = 1 + max((self.depth[id(each)][1] for each in within), default=0)
        self.depth[id(made)] = made, depth  # kept with the node: ids of dead ones come again
        if depth > DEEPEST:
            self.text.refuse(
                made.place, "expression", "it is nested too deeply", "write several equations"
            )
        return made


def _place(token: Token) -> s.Place:
    return s.Place(token.line or 1, token.column or 1)
