ALTER TABLE reviews ADD COLUMN parts TEXT NOT NULL DEFAULT '[]'; -- of the final answer: texts and what they cite
