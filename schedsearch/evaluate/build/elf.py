"""Identity of machine code: a minimal reader of ELF64 relocatable objects.

Layout: System V ABI, chapter 4 (sections, symbol table, relocations).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

_SHT_SYMTAB, _SHT_RELA, _SHT_NOBITS = 2, 4, 8
_SHF_ALLOC = 2
_SHN_UNDEF = 0
# Loaded, but says nothing about behaviour: unwind tables follow from the code,
# notes carry build-ids and ABI tags.
_IGNORED = (".eh_frame", ".note", ".comment")


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    data: bytes
    size: int
    link: int
    info: int

    @property
    def counts(self) -> bool:
        return bool(self.flags & _SHF_ALLOC) and not self.name.startswith(_IGNORED)


def code_identity(image: bytes) -> str:
    """Key of the code and constant data of a little-endian ELF64 object file.

    Covers the bytes of every loaded section and its relocations. Local symbols
    count by the place they stand for and undefined ones (`sinf`, `malloc`) by
    name: names of local functions, file names, comments and debug information do
    not matter, while calling another library function does.

    Raises ValueError for another kind of file.
    """
    if image[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a little-endian ELF64 file")
    sections = list(_sections(image))
    symbols = next((s for s in sections if s.kind == _SHT_SYMTAB), None)
    hasher = sha256()
    for index, section in enumerate(sections):
        if section.counts:
            hasher.update(f"{index} {section.name} {section.flags} {section.size}\n".encode())
            hasher.update(section.data)
        elif section.kind == _SHT_RELA and sections[section.info].counts and symbols:
            names = sections[symbols.link].data
            for offset, info, addend in struct.iter_unpack("<QQq", section.data):
                place = _place(symbols.data, names, info >> 32)
                hasher.update(f"{offset} {info & 0xFFFFFFFF} {place} {addend}\n".encode())
    return hasher.hexdigest()[:32]


def _place(symbols: bytes, names: bytes, index: int) -> str:
    name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", symbols, 24 * index)
    return _text(names, name) if section == _SHN_UNDEF else f"{section}+{value}"


def _text(strings: bytes, start: int) -> str:
    return strings[start : strings.index(b"\0", start)].decode()


def _sections(image: bytes) -> Iterator[_Section]:
    (table,) = struct.unpack_from("<Q", image, 40)
    size, count, names_index = struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, table + i * size) for i in range(count)]
    _, _, _, _, start, length, *_ = headers[names_index]
    names = image[start : start + length]
    for name, kind, flags, _, offset, length, link, info, _, _ in headers:
        data = b"" if kind == _SHT_NOBITS else image[offset : offset + length]
        yield _Section(_text(names, name), kind, flags, data, length, link, info)
