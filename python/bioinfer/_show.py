"""Tables of results for notebooks, and the bar of `progress=True`."""
import html
from typing import Any, Iterable, Sequence, Tuple


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """A table in HTML. Every text is escaped."""
    def line(cell: str, values: Iterable[Any]) -> str:
        cells = "".join(f"<{cell}>{html.escape(str(value))}</{cell}>" for value in values)
        return f"<tr>{cells}</tr>"
    parts = [f"<div><b>{html.escape(title)}</b>"]
    body = "".join(line("td", row) for row in rows)
    if body:
        parts.append(f"<table><thead>{line('th', heads)}</thead><tbody>{body}</tbody></table>")
    if note:
        parts.append(f"<div>{html.escape(note)}</div>")
    return "".join(parts) + "</div>"


def number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Bar:
    """A bar of tqdm, which is imported when one is asked for."""

    def __init__(self, total: Any, unit: str):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ImportError("progress=True draws a bar with tqdm, which is not installed: "
                              "install tqdm, or give a function") from None
        self.bar = tqdm(total=total, unit=unit)

    def records(self, records: int, residues: int) -> None:
        self._move(records, f"{residues} residues")

    def share(self, share: float) -> None:
        self._move(round(share, 4), "")

    def _move(self, n: float, words: str) -> None:
        self.bar.set_postfix_str(words, refresh=False)
        self.bar.update(n - self.bar.n)

    def close(self) -> None:
        self.bar.close()

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *what: Any) -> None:
        self.close()


def length_of(source: Any) -> Any:
    """How many records there are, where the source says it; None: nobody knows."""
    if isinstance(source, (str, bytes)) or not hasattr(source, "__len__"):
        return None
    return len(source)


def shapes(arrays: Any) -> Iterable[Tuple[str, str, str]]:
    for key, array in arrays.items():
        name = key if isinstance(key, str) else f"{key[0]}, layer {key[1]}"
        yield name, " x ".join(map(str, array.shape)), str(array.dtype)
