-- The same questions put to several documents, and what each document answers.
CREATE TABLE grids (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  collection_id TEXT NOT NULL DEFAULT '',
  columns TEXT NOT NULL,                      -- JSON
  running INTEGER NOT NULL DEFAULT 0,         -- whether its waiting cells are to be asked
  created_at TEXT NOT NULL
) STRICT;
CREATE TABLE grid_rows (
  grid_id TEXT NOT NULL REFERENCES grids(id) ON DELETE CASCADE,
  document_id TEXT NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  PRIMARY KEY (grid_id, document_id)
) STRICT;
CREATE INDEX grid_rows_of_documents ON grid_rows(document_id);
CREATE TABLE grid_cells (
  grid_id TEXT NOT NULL,
  document_id TEXT NOT NULL,
  column_id TEXT NOT NULL,
  state TEXT NOT NULL,
  value TEXT NOT NULL DEFAULT '',
  citations TEXT NOT NULL DEFAULT '[]',       -- JSON
  confidence REAL,
  detail TEXT NOT NULL DEFAULT '',
  pages_read INTEGER NOT NULL DEFAULT 0,
  by_person INTEGER NOT NULL DEFAULT 0,
  locked INTEGER NOT NULL DEFAULT 0,
  basis TEXT NOT NULL DEFAULT '',             -- the passages and the question that it was answered from
  PRIMARY KEY (grid_id, document_id, column_id),
  FOREIGN KEY (grid_id, document_id) REFERENCES grid_rows(grid_id, document_id)
    ON DELETE CASCADE ON UPDATE CASCADE
) STRICT;
