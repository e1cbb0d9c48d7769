-- Text that a reader of the page does not see, apart from the page's own: JSON; NULL where nobody looked for any.
ALTER TABLE pages ADD COLUMN hidden TEXT;
