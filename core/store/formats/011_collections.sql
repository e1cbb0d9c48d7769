CREATE TABLE collections (                  -- named sets of documents
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE COLLATE NOCASE,
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE collection_documents (
  collection_id TEXT NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
  document_id TEXT NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  PRIMARY KEY (collection_id, document_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX collections_of_document ON collection_documents(document_id);

ALTER TABLE sessions ADD COLUMN collection_id TEXT NOT NULL DEFAULT ''; -- it searches no other documents; '': all
