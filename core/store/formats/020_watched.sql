-- Folders whose files are kept in the library, and what was found in each when it was last looked at.
CREATE TABLE watched_folders (
  id TEXT PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  collection_id TEXT NOT NULL DEFAULT '',    -- its documents are put into it; empty: into none
  ignored TEXT NOT NULL DEFAULT '',          -- patterns, one a line
  removes INTEGER NOT NULL DEFAULT 0,        -- 1: the documents of deleted files are removed without asking
  created_at TEXT NOT NULL,
  checked_at TEXT NOT NULL DEFAULT '',       -- when it was last looked at whole
  problem TEXT NOT NULL DEFAULT ''           -- why it cannot be looked at
) STRICT;

CREATE TABLE watched_files (
  folder_id TEXT NOT NULL REFERENCES watched_folders(id) ON DELETE CASCADE,
  path TEXT NOT NULL,                        -- within the folder, with slashes
  size INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL,
  document_id TEXT NOT NULL DEFAULT '',      -- SHA-256 of the file; empty: it could not be added
  added INTEGER NOT NULL DEFAULT 0,          -- 1: watching added the document; 0: it was in the library before
  problem TEXT NOT NULL DEFAULT '',          -- why not
  adding TEXT NOT NULL DEFAULT '',           -- SHA-256 of what was being added when the process was killed
  missing_since TEXT NOT NULL DEFAULT '',    -- the file is gone, and a person decides about its document
  PRIMARY KEY (folder_id, path)
) STRICT;
CREATE INDEX watched_documents ON watched_files(document_id);
