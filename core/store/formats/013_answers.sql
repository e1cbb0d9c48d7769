-- The answer beside what lists show of a turn, so that sessions are found by it without reading bodies.
ALTER TABLE turn_lines ADD COLUMN answer TEXT NOT NULL DEFAULT '';
CREATE TRIGGER answer_written AFTER UPDATE OF body ON turns WHEN json_valid(new.body) BEGIN
  UPDATE turn_lines SET answer = coalesce(json_extract(new.body, '$.answer'), '') WHERE turn_id = new.id;
END;
UPDATE turn_lines SET answer = coalesce(
  (SELECT json_extract(body, '$.answer') FROM turns WHERE id = turn_id AND json_valid(body)), '');
CREATE INDEX turns_by_answer ON turn_lines(answer);
CREATE INDEX reviews_by_answer ON reviews(final_answer, turn_id);
