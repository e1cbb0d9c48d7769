-- Which version of the reader read a page (READER in domain/documents.py); -1: it is to be read again.
ALTER TABLE pages ADD COLUMN reader INTEGER NOT NULL DEFAULT 0;
CREATE INDEX pages_by_reader ON pages(reader, document_id);
