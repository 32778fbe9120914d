-- Bulk operations that go on behind their answers. `record` holds the whole record, encoded.
CREATE TABLE bulk_rows (
  seq         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL,
  action      INTEGER NOT NULL,  -- 0 retry, 1 delete, 2 cancel, 3 move, 4 requeue, 5 change_priority
  status      INTEGER NOT NULL,  -- 0 processing, 1 completed, 2 cancelled, 3 failed
  filter      TEXT,
  estimated   INTEGER NOT NULL,
  affected    INTEGER NOT NULL,
  skipped     INTEGER NOT NULL,
  failed      INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  finished_at INTEGER,
  record      BLOB NOT NULL
);

CREATE VIEW bulk_operations AS
SELECT id,
  CASE action WHEN 0 THEN 'retry' WHEN 1 THEN 'delete' WHEN 2 THEN 'cancel' WHEN 3 THEN 'move'
    WHEN 4 THEN 'requeue' ELSE 'change_priority' END AS action,
  CASE status WHEN 0 THEN 'processing' WHEN 1 THEN 'completed' WHEN 2 THEN 'cancelled'
    ELSE 'failed' END AS status,
  filter, estimated, affected, skipped, failed,
  strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') AS finished_at
FROM bulk_rows;
