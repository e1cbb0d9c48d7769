-- What lists show of a turn, apart from its body, which runs to hundreds of kilobytes. Triggers keep it, whoever writes.
CREATE TABLE turn_lines (
  turn_id TEXT PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE,
  version INTEGER NOT NULL DEFAULT 0,       -- grows with every change of the turn, its review or its feedback
  document_ids TEXT NOT NULL DEFAULT '[]',  -- the documents that were searched
  cited_ids TEXT NOT NULL DEFAULT '[]',
  cited_names TEXT NOT NULL DEFAULT '[]',
  reasons TEXT NOT NULL DEFAULT '[]'
) STRICT, WITHOUT ROWID;

CREATE TRIGGER turn_written AFTER UPDATE OF body, status ON turns BEGIN
  UPDATE turn_lines SET version = version + 1 WHERE turn_id = new.id;
  UPDATE turn_lines SET
    document_ids = coalesce(json_extract(new.body, '$.document_ids'), '[]'),
    reasons = coalesce(json_extract(new.body, '$.reasons'), '[]'),
    cited_ids = (
      SELECT json_group_array(DISTINCT json_extract(value, '$.document_id')) FROM json_each(new.body, '$.citations')
      WHERE type = 'object'
    ),
    cited_names = (
      SELECT json_group_array(DISTINCT json_extract(value, '$.document_name')) FROM json_each(new.body, '$.citations')
      WHERE type = 'object'
    )
  WHERE turn_id = new.id AND json_valid(new.body);
END;
CREATE TRIGGER turn_created AFTER INSERT ON turns BEGIN
  INSERT INTO turn_lines (turn_id) VALUES (new.id);
  UPDATE turns SET body = body WHERE id = new.id;
END;
INSERT INTO turn_lines (turn_id) SELECT id FROM turns;
UPDATE turns SET body = body;

ALTER TABLE reviews ADD COLUMN undone_at TEXT NOT NULL DEFAULT '';
CREATE TRIGGER review_given AFTER INSERT ON reviews BEGIN
  UPDATE turn_lines SET version = version + 1 WHERE turn_id = new.turn_id;
END;
CREATE TRIGGER review_changed AFTER UPDATE ON reviews BEGIN
  UPDATE turn_lines SET version = version + 1 WHERE turn_id = new.turn_id;
END;
CREATE TRIGGER review_removed AFTER DELETE ON reviews BEGIN
  UPDATE turn_lines SET version = version + 1 WHERE turn_id = old.turn_id;
END;
CREATE TRIGGER feedback_given AFTER INSERT ON feedback BEGIN
  UPDATE turn_lines SET version = version + 1 WHERE turn_id = new.turn_id;
END;
CREATE TRIGGER feedback_changed AFTER UPDATE ON feedback BEGIN
  UPDATE turn_lines SET version = version + 1 WHERE turn_id = new.turn_id;
END;
CREATE TRIGGER feedback_removed AFTER DELETE ON feedback BEGIN
  UPDATE turn_lines SET version = version + 1 WHERE turn_id = old.turn_id;
END;

CREATE TABLE drafts (                       -- a reviewer's text that is edited and not saved
  turn_id TEXT PRIMARY KEY REFERENCES turns(id) ON DELETE CASCADE,
  text TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE TABLE question_vectors (             -- of reviewed questions, for the next one that means the same
  turn_id TEXT NOT NULL REFERENCES turns(id) ON DELETE CASCADE,
  model TEXT NOT NULL,                      -- embedder name and version
  vector BLOB NOT NULL,                     -- float32, little endian
  PRIMARY KEY (turn_id, model)
) STRICT, WITHOUT ROWID;

CREATE INDEX turns_by_start ON turns(started_at);
CREATE INDEX turns_of_session_by_question ON turns(session_id, question);
CREATE INDEX sessions_by_use ON sessions(updated_at);
