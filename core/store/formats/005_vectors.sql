-- Vectors are kept in embeddings; Chroma's folder is made from them and can be made again.
CREATE TABLE vector_state (                 -- one row
  generation INTEGER NOT NULL,              -- goes up with every change of passages or embeddings, in any process
  chroma_index INTEGER NOT NULL,            -- whose vectors Chroma holds: vector_indexes.id, or 0
  chroma_generation INTEGER NOT NULL,       -- the generation at which it held all of them
  seal TEXT NOT NULL                        -- digest of Chroma's folder as it was left; empty: not to be trusted
) STRICT;
INSERT INTO vector_state VALUES (0, 0, -1, '');

ALTER TABLE documents ADD COLUMN vectors_generation INTEGER NOT NULL DEFAULT 0;

CREATE TRIGGER passage_added AFTER INSERT ON passages BEGIN
  UPDATE vector_state SET generation = generation + 1;
  UPDATE documents SET vectors_generation = (SELECT generation FROM vector_state) WHERE id = NEW.document_id;
END;

CREATE TRIGGER passage_removed AFTER DELETE ON passages BEGIN
  UPDATE vector_state SET generation = generation + 1;
  UPDATE documents SET vectors_generation = (SELECT generation FROM vector_state) WHERE id = OLD.document_id;
END;

CREATE TRIGGER embedding_added AFTER INSERT ON embeddings BEGIN
  UPDATE vector_state SET generation = generation + 1;
  UPDATE documents SET vectors_generation = (SELECT generation FROM vector_state)
    WHERE id IN (SELECT document_id FROM passages WHERE embedding_key = NEW.key);
END;

CREATE TRIGGER embedding_changed AFTER UPDATE ON embeddings BEGIN
  UPDATE vector_state SET generation = generation + 1;
  UPDATE documents SET vectors_generation = (SELECT generation FROM vector_state)
    WHERE id IN (SELECT document_id FROM passages WHERE embedding_key = NEW.key);
END;

CREATE TRIGGER embedding_removed AFTER DELETE ON embeddings BEGIN
  UPDATE vector_state SET generation = generation + 1;
  UPDATE documents SET vectors_generation = (SELECT generation FROM vector_state)
    WHERE id IN (SELECT document_id FROM passages WHERE embedding_key = OLD.key);
END;
