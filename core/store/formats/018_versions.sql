-- A question that is asked again, perhaps edited, is shown in the place of its first version.
ALTER TABLE turns ADD COLUMN place INTEGER NOT NULL DEFAULT -1;   -- position of the first version
UPDATE turns SET place = position;
CREATE INDEX turns_by_place ON turns(session_id, place, position);

CREATE TRIGGER turn_placed AFTER INSERT ON turns WHEN new.place < 0 BEGIN
  UPDATE turns SET place = position WHERE id = new.id;
END;

-- How answers about the documents of a collection are to be written: "in German, with clause numbers".
ALTER TABLE collections ADD COLUMN instructions TEXT NOT NULL DEFAULT '';
