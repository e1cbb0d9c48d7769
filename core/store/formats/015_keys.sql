-- Values that were words for people are keys.
UPDATE turns SET status = 'flagged_for_review' WHERE status = 'flagged for review';
UPDATE pages SET reason = replace(reason, ' ', '_')
  WHERE reason IN ('blank page', 'a picture without text', 'a picture with hardly any text');
UPDATE metadata SET source = lower(replace(source, ' ', '_'));
UPDATE jobs SET stage = replace(stage, ' ', '_');
