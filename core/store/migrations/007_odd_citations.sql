-- A damaged answer may have citations that are none; the list passes over them, and the answer can still be marked.
DROP TRIGGER turn_written;
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
