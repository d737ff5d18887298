"""Rows of reports."""
from __future__ import annotations

from typing import Any, Iterable


class Rows(list[dict[str, Any]]):
    """A report's rows: a list of dicts that all have the same keys, in the order of `columns`; what is not known is None.

    pandas.DataFrame(rows), polars.DataFrame(rows) and pyarrow.Table.from_pylist(rows) take it as it is. Times are integers or floats in ns
    (`_ns`), shares go from 0 to 1 (`_frac`). `document` is the whole report, with "totals", "warnings" and "inputs".
    """

    def __init__(self, rows: Iterable[dict[str, Any]], document: dict[str, Any] | None = None) -> None:
        rows = list(rows)
        columns: dict[str, None] = {}
        for row in rows:
            columns.update(dict.fromkeys(row))
        self.columns = list(columns)
        self.document = document or {}
        super().__init__({column: row.get(column) for column in self.columns} for row in rows)

    @property
    def totals(self) -> dict[str, Any]:
        """Sums over the whole trace."""
        return self.document.get("totals", {})

    def __str__(self) -> str:
        """The rows as a table in plain text."""
        shown = [self.columns, *([_text(row[column]) for column in self.columns] for row in self)]
        widths = [max(len(line[i]) for line in shown) for i in range(len(self.columns))]
        numeric = [all(isinstance(row[column], (int, float, type(None))) for row in self) for column in self.columns]
        lines = []
        for line in shown:
            cells = [cell.rjust(width) if right else cell.ljust(width) for cell, width, right in zip(line, widths, numeric)]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
