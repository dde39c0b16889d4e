"""Names of live runs whose name is not their id, for look-ups in both directions."""

import sqlite3
from typing import Final

from checklist_crds.ids import is_id
from checklist_crds.resources.kinds import key_of
from checklist_crds.resources.run_id import run_id_of
from checklist_crds.values.json_text import JsonObject

_SCHEMA: Final = """
CREATE TABLE names (namespace, name, run_id, PRIMARY KEY (namespace, name)) WITHOUT ROWID;
CREATE INDEX of_id ON names (run_id, namespace, name);
"""


class RunNames:
    """A table of a watch-fed database. Runs named by their id take no row."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        db.executescript(_SCHEMA)

    def id_at(self, namespace: str, name: str) -> str | None:
        """Return the id of the run with this name; None if it has none yet, or there is no such run."""
        if is_id("r", name):
            return name
        query = "SELECT run_id FROM names WHERE namespace = ? AND name = ?"
        found = self._db.execute(query, (namespace, name)).fetchone()
        return None if found is None else str(found[0])

    def name_of(self, run_id: str, namespace: str) -> str:
        """Return the name of the run with this id, which is the id itself unless another one is known."""
        query = "SELECT name FROM names WHERE run_id = ? AND namespace = ?"
        found = self._db.execute(query, (run_id, namespace)).fetchone()
        return run_id if found is None else str(found[0])

    def apply(self, change: str, body: JsonObject) -> tuple[str | None, str | None]:
        """Apply a watch event; return the ids of the run before and after it.

        They differ when the object is gone, or when another run now has its name.
        """
        namespace, name = key_of(body)
        before = self.id_at(namespace, name)
        after = run_id_of(body) if change != "DELETE" else None
        if before != after and not is_id("r", name):
            if after is None:
                self._db.execute("DELETE FROM names WHERE namespace = ? AND name = ?", (namespace, name))
            else:
                self._db.execute("INSERT OR REPLACE INTO names VALUES (?, ?, ?)", (namespace, name, after))
        return before, after
