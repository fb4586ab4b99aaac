"""Files by which build systems find a library, and the file that says what is in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from schedsearch import __version__
from schedsearch.core.build import OPENMP, compile_flags
from schedsearch.deploy.library.packing import LeftOut, Packed, Variant
from schedsearch.deploy.library.sources import CHOOSING_FLAGS, commands

MANIFEST_SCHEMA = 1
"""Raised when a field of the manifest changes its meaning."""

_PKG_CONFIG = """\
prefix=$${pcfiledir}/../..

Name: $name
Description: kernels tuned by schedsearch
Version: $version
Cflags: -I$${prefix}/include
Libs: -L$${prefix}/lib -l$name
Libs.private: -lm -pthread$openmp
"""

_CONFIG = """\
# find_package($name) gives $name::$name, a shared library, and $name::static.
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
get_filename_component(_$name "$${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET $name::$name)
  add_library($name::$name SHARED IMPORTED)
  set_target_properties($name::$name PROPERTIES
    IMPORTED_LOCATION "$${_$name}/lib/lib$name.so"
    IMPORTED_SONAME "lib$name.so"
    INTERFACE_INCLUDE_DIRECTORIES "$${_$name}/include")
  add_library($name::static STATIC IMPORTED)
  set_target_properties($name::static PROPERTIES
    IMPORTED_LOCATION "$${_$name}/lib/lib$name.a"
    INTERFACE_INCLUDE_DIRECTORIES "$${_$name}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;m"
    INTERFACE_LINK_OPTIONS "$openmp")
endif()
unset(_$name)
"""

_CONFIG_VERSION = """\
set(PACKAGE_VERSION "$version")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
"""

_LISTS = """\
# Builds $name without schedsearch: add_subdirectory here gives $name::$name and $name::static.
# Every file has its own options; those that verified it are in ../../share/$name/$name.json.
cmake_minimum_required(VERSION 3.16)
project($name VERSION $version LANGUAGES C)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
add_library(${name}_objects OBJECT
$files)
target_include_directories(${name}_objects PUBLIC "$${CMAKE_CURRENT_SOURCE_DIR}")
$options
foreach(kind SHARED STATIC)
  string(TOLOWER $${kind} lower)
  add_library(${name}_$${lower} $${kind} $$<TARGET_OBJECTS:${name}_objects>)
  set_target_properties(${name}_$${lower} PROPERTIES OUTPUT_NAME $name)
  target_include_directories(${name}_$${lower} INTERFACE "$${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(${name}_$${lower} PRIVATE Threads::Threads m $openmp)
endforeach()
add_library($name::$name ALIAS ${name}_shared)
add_library($name::static ALIAS ${name}_static)
include(GNUInstallDirs)
install(TARGETS ${name}_shared ${name}_static)
install(FILES $name.h DESTINATION "$${CMAKE_INSTALL_INCLUDEDIR}")
"""


def texts(name: str, version: str, procs: Sequence[Packed]) -> dict[str, str]:
    """The files by path, below where the library is installed."""
    options = commands(name, procs)
    openmp = OPENMP if any(OPENMP in each for each in options.values()) else ""
    words = {"name": name, "version": version, "openmp": openmp}
    spaced = {**words, "openmp": f" {openmp}" if openmp else ""}
    cmake = f"lib/cmake/{name}/{name}Config"
    return {
        f"lib/pkgconfig/{name}.pc": Template(_PKG_CONFIG).substitute(spaced),
        f"{cmake}.cmake": Template(_CONFIG).substitute(words),
        f"{cmake}Version.cmake": Template(_CONFIG_VERSION).substitute(words),
        f"src/{name}/CMakeLists.txt": Template(_LISTS).substitute(
            words,
            files="\n".join(f"  {file}" for file in options),
            options="\n".join(_properties(name, options)),
        ),
    }


def _properties(name: str, options: Mapping[str, Sequence[str]]) -> list[str]:
    """Arguments of the public functions are checked in debug builds."""
    own = {**options, f"{name}.c": (*CHOOSING_FLAGS, "$<$<NOT:$<CONFIG:Debug>>:-DNDEBUG>")}
    return [
        f'set_source_files_properties({file} PROPERTIES COMPILE_OPTIONS "{";".join(each)}")'
        for file, each in own.items()
    ]


def manifest(name: str, version: str, procs: Sequence[Packed], left_out: Sequence[LeftOut]) -> str:
    """What is in a library and why, as JSON. It has no times and no paths: the same lock and the
    same compilers give the same bytes."""
    data = {
        "schema": MANIFEST_SCHEMA,
        "name": name,
        "version": version,
        "schedsearch": __version__,
        "procedures": {
            proc.name: {"variants": {each.name: _described(each) for each in proc.variants}}
            for proc in procs
        },
        "left_out": {each.what: each.why for each in left_out},
    }
    return json.dumps(data, indent=2) + "\n"


def _described(variant: Variant) -> dict[str, Any]:
    entry = variant.entry
    return {
        "isa": variant.level.name,
        "needs": sorted(variant.needs),
        "only_for": dict(variant.fixed),
        "one_call_at_a_time": variant.static,
        "compiler": f"{variant.compiler.kind} {variant.compiler.version}",
        "flags": list(compile_flags(variant.flags, variant.code.source, variant.compiler.kind)),
        "machine_code": variant.machine_code,
        "verified": {"cases": variant.cases, "caveats": list(variant.caveats)},
        "schedule": None
        if entry is None
        else {
            "trace": [step.to_json() for step in variant.trace.steps],
            "measured": {
                "sizes": dict(entry.workload.sizes),
                "cpu": entry.target.cpu,
                "isa": entry.target.isa,
                "compiler": f"{entry.target.compiler.kind} {entry.target.compiler.version}",
                "flags": list(entry.target.flags),
                "threads": entry.target.threads,
                "fp": str(entry.target.fp),
                "speedup": entry.speed.ratio.to_json(),
                "call_ns": entry.speed.call_ns,
            },
        },
    }
