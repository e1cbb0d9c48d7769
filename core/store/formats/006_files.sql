-- SHA-256 of the PDF as it is kept, where that is not the document's id: a password was taken off it.
ALTER TABLE documents ADD COLUMN kept_sha256 TEXT NOT NULL DEFAULT '';
