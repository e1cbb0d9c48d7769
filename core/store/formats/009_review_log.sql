-- What was done to decisions. Each line has the hash of the decision's row before and after (empty: there is none), and a
-- seal over itself and the line before. No text is in it, and so it stays when an answer is deleted.
CREATE TABLE review_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  review_id INTEGER NOT NULL,
  was TEXT NOT NULL,
  becomes TEXT NOT NULL,
  noted_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  seal TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE TRIGGER review_log_noted AFTER INSERT ON review_log WHEN new.seal = '' BEGIN
  UPDATE review_log SET seal = row_hash(
    (SELECT seal FROM review_log WHERE id = new.id - 1), new.id, new.review_id, new.was, new.becomes, new.noted_at
  ) WHERE id = new.id;
END;
CREATE VIEW review_hashes AS
  SELECT id, row_hash(id, turn_id, decision, final_answer, note, reviewer, decided_at, citations, parts, stale,
    undone_at) AS hash FROM reviews;
CREATE TRIGGER review_log_given AFTER INSERT ON reviews BEGIN
  INSERT INTO review_log (review_id, was, becomes) SELECT id, '', hash FROM review_hashes WHERE id = new.id;
END;
CREATE TRIGGER review_log_changed AFTER UPDATE ON reviews BEGIN
  INSERT INTO review_log (review_id, was, becomes) SELECT id,
    row_hash(old.id, old.turn_id, old.decision, old.final_answer, old.note, old.reviewer, old.decided_at,
      old.citations, old.parts, old.stale, old.undone_at),
    hash FROM review_hashes WHERE id = new.id;
END;
CREATE TRIGGER review_log_removed BEFORE DELETE ON reviews BEGIN
  INSERT INTO review_log (review_id, was, becomes) SELECT id, hash, '' FROM review_hashes WHERE id = old.id;
END;
UPDATE reviews SET stale = stale; -- those that are there enter the log
