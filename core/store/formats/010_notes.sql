CREATE TABLE notes (                        -- what a user wrote beside a conversation, as Markdown
  session_id TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
  text TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE pins (                         -- quotations that a user keeps beside it
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  document_id TEXT NOT NULL,                -- stays when the document goes: the pin then reads "source removed"
  citation TEXT NOT NULL,                   -- the Citation as JSON
  pinned_at TEXT NOT NULL,
  removed INTEGER NOT NULL DEFAULT 0        -- 1: the last one that was taken away, which can be brought back
) STRICT;
CREATE INDEX pins_of_session ON pins(session_id, id);
CREATE INDEX pins_of_document ON pins(document_id);
