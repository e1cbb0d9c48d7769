CREATE TABLE documents (
  id TEXT PRIMARY KEY,                      -- SHA-256 of the bytes, hex
  name TEXT NOT NULL,
  byte_size INTEGER NOT NULL,
  page_count INTEGER NOT NULL DEFAULT 0,
  passage_count INTEGER NOT NULL DEFAULT 0,
  added_at TEXT NOT NULL,
  status TEXT NOT NULL,
  searchable INTEGER NOT NULL DEFAULT 0,
  message TEXT NOT NULL DEFAULT '',
  notes TEXT NOT NULL DEFAULT '[]',
  outline TEXT NOT NULL DEFAULT '[]',
  owner TEXT NOT NULL DEFAULT 'local'
) STRICT;

CREATE TABLE metadata (
  document_id TEXT NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  source TEXT NOT NULL,
  PRIMARY KEY (document_id, name, value)
) STRICT;

CREATE TABLE pages (
  document_id TEXT NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  page_index INTEGER NOT NULL,
  page_label TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  seconds REAL NOT NULL DEFAULT 0,
  text TEXT NOT NULL DEFAULT '',
  layout BLOB NOT NULL,                     -- zlib of the words and blocks
  recognise INTEGER NOT NULL DEFAULT 0,     -- 1: waits for OCR
  PRIMARY KEY (document_id, page_index)
) STRICT;
CREATE INDEX pages_to_recognise ON pages(document_id) WHERE recognise = 1;

CREATE TABLE passages (
  number INTEGER PRIMARY KEY AUTOINCREMENT, -- rowid of the keyword index; never used twice, as work in flight names it
  id TEXT NOT NULL UNIQUE,
  document_id TEXT NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  page_index INTEGER NOT NULL,
  start INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  heading_path TEXT NOT NULL DEFAULT '[]',
  boxes TEXT NOT NULL DEFAULT '[]',
  context TEXT NOT NULL DEFAULT '',
  embedding_key BLOB NOT NULL               -- SHA-256 of the embedded text
) STRICT;
CREATE INDEX passages_of_page ON passages(document_id, page_index, start);
CREATE INDEX passages_by_embedding ON passages(embedding_key);

-- Terms separated by spaces, as core/store/keywords.py makes them: 1234.5 is one term.
CREATE VIRTUAL TABLE passage_words USING fts5(
  context, text, tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* M* Co' tokenchars '.'"
);

CREATE TABLE embeddings (                   -- cache: SHA-256 of text and model
  key BLOB NOT NULL,
  model TEXT NOT NULL,                      -- embedder name and version
  vector BLOB NOT NULL,                     -- float32, little endian
  UNIQUE (key, model)
) STRICT;

CREATE TABLE vector_indexes (               -- one Chroma collection each
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  embedder TEXT NOT NULL,
  version TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  role TEXT NOT NULL UNIQUE                 -- active, building or previous
) STRICT;

CREATE TABLE pending_vectors (              -- passages that an index still lacks
  index_id INTEGER NOT NULL REFERENCES vector_indexes(id) ON DELETE CASCADE,
  passage_number INTEGER NOT NULL REFERENCES passages(number) ON DELETE CASCADE,
  PRIMARY KEY (index_id, passage_number)
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_of_passage ON pending_vectors(passage_number);

CREATE TABLE removals (                     -- what must still leave the vector indexes and the files folder
  subject TEXT PRIMARY KEY,                 -- passage id, or document id
  kind TEXT NOT NULL                        -- passage or file
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  document_id TEXT NOT NULL UNIQUE REFERENCES documents(id) ON DELETE CASCADE,
  stage TEXT NOT NULL,
  status TEXT NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  total INTEGER NOT NULL DEFAULT 0,
  message TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  stage_started_at TEXT NOT NULL DEFAULT '',
  stage_started_done INTEGER NOT NULL DEFAULT 0,
  replaces TEXT NOT NULL DEFAULT ''         -- document to remove once this one is searchable
) STRICT;
CREATE INDEX jobs_by_status ON jobs(status, id);

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  document_ids TEXT NOT NULL DEFAULT '[]',
  owner TEXT NOT NULL DEFAULT 'local'
) STRICT;

CREATE TABLE turns (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  status TEXT NOT NULL,
  question TEXT NOT NULL,
  started_at TEXT NOT NULL,
  confidence REAL,
  body TEXT NOT NULL,                       -- the Turn as JSON, without trace, review and feedback
  owner TEXT NOT NULL DEFAULT 'local',
  worker TEXT NOT NULL DEFAULT '',          -- process that runs it: id and start time
  UNIQUE (session_id, position)
) STRICT;
CREATE INDEX turns_by_status ON turns(status, started_at);

CREATE TABLE trace_steps (
  turn_id TEXT NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  body TEXT NOT NULL,                       -- the TraceStep as JSON
  PRIMARY KEY (turn_id, position)
) STRICT;

CREATE TABLE reviews (                      -- one row a decision; the newest of a turn counts
  id INTEGER PRIMARY KEY,
  turn_id TEXT NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
  decision TEXT NOT NULL,
  final_answer TEXT NOT NULL,
  note TEXT NOT NULL DEFAULT '',
  reviewer TEXT NOT NULL,
  decided_at TEXT NOT NULL,
  citations TEXT NOT NULL DEFAULT '[]',
  stale TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX reviews_of_turn ON reviews(turn_id, id);

CREATE TABLE feedback (
  turn_id TEXT PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  given_at TEXT NOT NULL
) STRICT;
