-- Tokens with which other programs use Pincite; of a token only its digest is kept.
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  digest TEXT NOT NULL UNIQUE,      -- SHA-256 of the token, in hexadecimal digits
  permissions TEXT NOT NULL,        -- words with spaces between them
  created_at TEXT NOT NULL,
  used_at TEXT NOT NULL DEFAULT ''
) STRICT;
