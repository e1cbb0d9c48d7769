-- What was asked and answered, as the embedding model sees it: sessions are found by meaning. Goes with its turn.
CREATE TABLE turn_vectors (
  turn_id TEXT PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE,
  model TEXT NOT NULL,
  vector BLOB NOT NULL
);
