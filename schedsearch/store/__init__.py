"""The tuning store: SQLite or PostgreSQL through SQLAlchemy, migrated by alembic."""

from schedsearch.core.records import RunStatus
from schedsearch.store.database import Store
from schedsearch.store.views import Run, Scope, StoredCandidate

__all__ = ["Run", "RunStatus", "Scope", "Store", "StoredCandidate"]
