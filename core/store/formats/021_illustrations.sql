-- Where each page has figures, and what models wrote about them.
ALTER TABLE pages ADD COLUMN illustrations TEXT NOT NULL DEFAULT '';  -- JSON of boxes; empty: none was looked for
CREATE INDEX illustrated_pages ON pages(document_id, page_index, illustrations) WHERE length(illustrations) > 2;
CREATE TABLE descriptions (
  document_id TEXT NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  page_index INTEGER NOT NULL,
  box TEXT NOT NULL,                          -- JSON: where on the page
  model TEXT NOT NULL,
  text TEXT NOT NULL,
  unsure TEXT NOT NULL DEFAULT '[]',          -- JSON: figures of the text that the picture does not show
  created_at TEXT NOT NULL,
  PRIMARY KEY (document_id, page_index, box)
) STRICT;
