-- Which restricted key made a queue, whose worker one is, who began a bulk operation (NULL: none, or it was
-- made before this was written down), and the limits that are in force.
ALTER TABLE queue_rows ADD COLUMN owner TEXT;
ALTER TABLE worker_rows ADD COLUMN owner TEXT;
ALTER TABLE bulk_rows ADD COLUMN owner TEXT;
ALTER TABLE meta_row ADD COLUMN max_queues INTEGER NOT NULL DEFAULT 100000;
ALTER TABLE meta_row ADD COLUMN max_queues_per_key INTEGER NOT NULL DEFAULT 10000;
ALTER TABLE meta_row ADD COLUMN max_idempotency_keys_per_key INTEGER NOT NULL DEFAULT 1000000;

-- Every API key has idempotency keys of its own. Those from before have no scope, and are honoured until
-- they expire.
ALTER TABLE idempotency_rows RENAME TO unscoped_idempotency_rows;
CREATE TABLE idempotency_rows (
  scope       TEXT NOT NULL,  -- id of the caller's API key; empty: none was asked for
  key         TEXT NOT NULL,
  fingerprint INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  reply       BLOB,
  PRIMARY KEY (scope, key)
) WITHOUT ROWID;
INSERT INTO idempotency_rows SELECT '', key, fingerprint, expires_at, reply FROM unscoped_idempotency_rows;
DROP TABLE unscoped_idempotency_rows;

DROP VIEW queues;
CREATE VIEW queues AS
SELECT name, paused, draining, max_concurrency, rate_limit, rate_window_ms,
  strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at, owner
FROM queue_rows;

DROP VIEW workers;
CREATE VIEW workers AS
SELECT id, hostname, queues, active,
  strftime('%Y-%m-%dT%H:%M:%fZ', last_heartbeat / 1000.0, 'unixepoch') AS last_heartbeat,
  strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS started_at, owner
FROM worker_rows;

DROP VIEW bulk_operations;
CREATE VIEW bulk_operations AS
SELECT id,
  CASE action WHEN 0 THEN 'retry' WHEN 1 THEN 'delete' WHEN 2 THEN 'cancel' WHEN 3 THEN 'move'
    WHEN 4 THEN 'requeue' ELSE 'change_priority' END AS action,
  CASE status WHEN 0 THEN 'processing' WHEN 1 THEN 'completed' WHEN 2 THEN 'cancelled'
    ELSE 'failed' END AS status,
  filter, estimated, affected, skipped, failed,
  strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') AS finished_at, owner
FROM bulk_rows;
