"""Rows of reports."""
from __future__ import annotations

import json
from typing import Any, Iterable


def _of_one_type(values: list[Any]) -> list[Any]:
    """A column as tables want it: integers among floats are floats, and where else types differ all is text (JSON's, of what was none)."""
    types = {type(value) for value in values if value is not None}
    if len(types) < 2:
        return values
    if types == {int, float}:
        return [None if value is None else float(value) for value in values]
    return [value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]


class Rows(list[dict[str, Any]]):
    """A report's rows: a list of dicts that all have the same keys, in the order of `columns`, and one type in each column; what is not known is None.

    pandas.DataFrame(rows), polars.DataFrame(rows) and pyarrow.Table.from_pylist(rows) take it as it is; polars wants infer_schema_length=None where
    a key is known to none of the first 100 rows. Times are integers or floats in ns (`_ns`), shares go from 0 to 1 (`_frac`). `document` is the
    whole report, as the command wrote it, with "totals", "warnings" and "inputs".
    """

    def __init__(self, rows: Iterable[dict[str, Any]], document: dict[str, Any] | None = None) -> None:
        rows = list(rows)
        columns: dict[str, None] = {}
        for row in rows:
            columns.update(dict.fromkeys(row))
        self.columns = list(columns)
        self.document = document or {}
        values = [_of_one_type([row.get(column) for row in rows]) for column in self.columns]
        super().__init__(dict(zip(self.columns, row)) for row in zip(*values))

    @property
    def totals(self) -> dict[str, Any]:
        """Sums over the whole trace."""
        return self.document.get("totals", {})

    @property
    def verdict(self) -> str | None:
        """Of check() with min_time: "passed", "failed" or "cannot judge"; else None."""
        return self.document.get("verdict")

    @property
    def verdict_reason(self) -> str | None:
        """Why, in words."""
        return self.document.get("verdict_reason")

    def __str__(self) -> str:
        """The rows as a table in plain text; where there are none, why."""
        if not self:
            reasons = "; ".join(warning["message"] for warning in self.document.get("warnings", ()))
            return f"no rows: {reasons}" if reasons else "no rows"
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
