-- Vectors of questions, so that the same wording is not embedded twice. Of the wording only its hash is kept.
CREATE TABLE IF NOT EXISTS query_vectors (
  key BLOB NOT NULL,                          -- SHA-256 of the wording
  model TEXT NOT NULL,                        -- embedder@version
  vector BLOB NOT NULL,
  PRIMARY KEY (key, model)
) STRICT;

CREATE TRIGGER IF NOT EXISTS question_removed AFTER DELETE ON turns BEGIN
  DELETE FROM query_vectors;                  -- which of them are its own cannot be told
END;
