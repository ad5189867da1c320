"""Parameters of tasks, from the library's tables: signatures, docstrings, checks."""
import inspect
import os
import textwrap
from typing import Any, Callable, Dict, Iterable, List, TypeVar

import numpy as np

from . import _core
from ._errors import InvalidArgument, Status

REQUEST, PYTHON = 2, 8  # enum bioinfer_params_taker
NAMES, PATH = 6, 9  # enum bioinfer_params_kind
# keywords of methods that are called otherwise than members
ALIASES = {"n": "n_sequences", "temperature": "temperatures", "forces": "energy_only",
           "traceback": "score_only"}
M = TypeVar("M", bound=Callable[..., Any])


def fields(task: str) -> List[Dict[str, Any]]:
    """The rows of a task's table that Python takes."""
    rows: List[Dict[str, Any]] = []
    while True:
        row = _core.params_field(task, len(rows))
        if row is None:
            return [row for row in rows if row["takers"] & PYTHON]
        rows.append(row)


def _describe(row: Dict[str, Any]) -> str:
    words = " ".join(row["help"].split())
    notes = [row["unit"]] if row["unit"] and row["unit"] not in words else []
    notes += [f"default: {row['otherwise']}"] if row["otherwise"] else []
    text = f"{row['member']}: {words}" + (f" ({'; '.join(notes)})" if notes else "")
    return textwrap.fill(text, 90, initial_indent="    ", subsequent_indent="        ")


def takes(task: str, but: Iterable[str] = ()) -> Callable[[M], M]:
    """Decorates a method that ends in **params: these are the task's parameters `but` some, which
    its signature and its docstring have from the table."""
    def decorate(method: M) -> M:
        given = inspect.signature(method)
        shown = [p for p in given.parameters.values() if p.kind is not p.VAR_KEYWORD]
        known = {ALIASES.get(name, name) for name in given.parameters} | set(but)
        rows = [row for row in fields(task) if row["member"] not in known]
        shown += [inspect.Parameter(row["member"], inspect.Parameter.KEYWORD_ONLY, default=None)
                  for row in rows]
        setattr(method, "__signature__", given.replace(parameters=shown))
        method.__doc__ = "\n".join([inspect.cleandoc(method.__doc__ or ""), "",
                                    "Parameters of the task:", "", *map(_describe, rows), ""])
        return method
    return decorate


def chosen(**params: Any) -> Dict[str, Any]:
    """Options that were given; lists as tuples, so that they tell tasks apart."""
    return {name: tuple(value) if isinstance(value, (list, np.ndarray)) else value
            for name, value in params.items() if value is not None}


def _names(what: str, value: Any) -> str:
    """Texts with commas between, from a text or from a list of texts and numbers."""
    if isinstance(value, bytes):
        raise InvalidArgument(f"{what}: expected a text or a list, got {value!r}",
                              Status.INVALID_ARGUMENT)
    words = [value] if isinstance(value, str) else [str(part) for part in value]
    if not words:
        raise InvalidArgument(f"{what}: none is named", Status.INVALID_ARGUMENT)
    return ",".join(words)


def texts(task: str, params: Dict[str, Any]) -> Dict[str, Any]:
    """The same with names and paths as texts."""
    makes: Dict[int, Callable[[str, Any], str]] = {NAMES: _names,
                                                   PATH: lambda _, path: os.fsdecode(path)}
    kinds = {row["member"]: row["kind"] for row in fields(task)}
    return {name: makes[kinds[name]](name, value)
            if value is not None and kinds.get(name) in makes else value
            for name, value in params.items()}


def paths(task: str) -> List[str]:
    """The parameters of a task that are paths of files which it reads."""
    return [row["member"] for row in fields(task) if row["kind"] == PATH]


def checked(task: str, **params: Any) -> Dict[str, Any]:
    """The same, refused now where the task would refuse them."""
    found = chosen(**params)
    _core.params_check(task, found)
    return found
