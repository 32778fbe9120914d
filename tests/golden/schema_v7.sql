CREATE INDEX audit_rows_by_time ON audit_rows (at);

CREATE INDEX batch_rows_by_end ON batch_rows (finished_at);

CREATE INDEX delivery_rows_by_end ON delivery_rows (ended_at);

CREATE INDEX delivery_rows_by_webhook ON delivery_rows (webhook);

CREATE INDEX delivery_rows_waiting ON delivery_rows (seq) WHERE state = 0;

CREATE INDEX job_rows_by_group ON job_rows (group_name, state) WHERE group_name IS NOT NULL;

CREATE INDEX job_rows_by_state ON job_rows (state, queue, ended_at);

CREATE INDEX job_rows_in_order ON job_rows (state) WHERE state != 2;

CREATE TABLE audit_rows (
  number  INTEGER PRIMARY KEY AUTOINCREMENT,
  at      INTEGER NOT NULL,
  key_id  TEXT,
  name    TEXT,
  address TEXT,
  action  TEXT NOT NULL,
  target  TEXT,
  outcome TEXT NOT NULL
);

CREATE TABLE batch_rows (
  seq              INTEGER PRIMARY KEY,
  id               TEXT NOT NULL,
  total            INTEGER NOT NULL,
  pending          INTEGER NOT NULL,
  succeeded        INTEGER NOT NULL,
  failed           INTEGER NOT NULL,
  callback_queue   TEXT,
  callback_payload TEXT,
  callback_job_id  TEXT,
  created_at       INTEGER NOT NULL,
  finished_at      INTEGER
);

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
, owner TEXT);

CREATE TABLE delivery_rows (
  seq      INTEGER PRIMARY KEY,
  id       TEXT NOT NULL,
  webhook  INTEGER NOT NULL,  -- webhook_rows.seq
  event    TEXT NOT NULL,
  state    INTEGER NOT NULL,  -- 0 pending, 1 delivered, 2 failed
  attempts INTEGER NOT NULL,
  status   INTEGER NOT NULL,  -- of the latest answer; 0: none
  ended_at INTEGER,
  record   BLOB NOT NULL
);

CREATE TABLE group_rows (name TEXT PRIMARY KEY NOT NULL, paused INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE idempotency_rows (
  scope       TEXT NOT NULL,  -- id of the caller's API key; empty: none was asked for
  key         TEXT NOT NULL,
  fingerprint INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  reply       BLOB,
  PRIMARY KEY (scope, key)
) WITHOUT ROWID;

CREATE TABLE job_error_rows (
  job        INTEGER NOT NULL,  -- job_rows.seq
  ordinal    INTEGER NOT NULL,  -- counts the job's failures from 1
  attempt    INTEGER NOT NULL,
  error      TEXT,
  backtrace  TEXT,
  worker_id  TEXT,
  created_at INTEGER NOT NULL, started_at INTEGER, retry_at INTEGER,
  PRIMARY KEY (job, ordinal)
) WITHOUT ROWID;

CREATE TABLE job_log_rows (
  job     INTEGER NOT NULL,  -- job_rows.seq
  number  INTEGER NOT NULL,  -- counts the job's lines from 1
  at      INTEGER NOT NULL,
  level   INTEGER NOT NULL,  -- 0 debug, 1 info, 2 warning, 3 error
  message TEXT,
  PRIMARY KEY (job, number)
) WITHOUT ROWID;

CREATE TABLE job_rows (
  seq                  INTEGER PRIMARY KEY,  -- order of creation, the middle part of the id
  id_random            INTEGER NOT NULL,     -- the last part of the id; created_at is the first
  created_at           INTEGER NOT NULL,
  queue                TEXT,
  state                INTEGER NOT NULL,
  ended_at             INTEGER,
  group_name           TEXT,
  priority             INTEGER NOT NULL,
  attempt              INTEGER NOT NULL,
  max_retries          INTEGER NOT NULL,
  retry_backoff        INTEGER NOT NULL,     -- 0 none, 1 fixed, 2 linear, 3 exponential
  retry_base_delay_ms  INTEGER NOT NULL,
  retry_max_delay_ms   INTEGER NOT NULL,
  unique_key           TEXT,
  unique_until         INTEGER,
  batch_id             TEXT,
  schedule_id          TEXT,
  worker_id            TEXT,
  hostname             TEXT,
  lease                INTEGER NOT NULL,
  lease_end            INTEGER NOT NULL,     -- 0 none, 1 acked, 2 failed, 3 lost
  lease_ms             INTEGER NOT NULL,
  lease_expires_at     INTEGER,
  scheduled_at         INTEGER,
  run_at               INTEGER,
  expire_at            INTEGER,
  started_at           INTEGER,
  failed_at            INTEGER,
  nominal_at           INTEGER,
  flags                INTEGER NOT NULL,     -- 1 heartbeaten, 2 cancel requested, 4 holds unique, 8 batch counted
  arrival              INTEGER NOT NULL,
  group_arrival        INTEGER NOT NULL,
  error_count          INTEGER NOT NULL,
  errors_kept          INTEGER NOT NULL,     -- rows in job_error_rows
  revision             INTEGER NOT NULL,     -- meta_row.writes of the hand-over that brought it
  end_reason           TEXT,
  tags                 TEXT,
  progress             TEXT,
  payload              TEXT,
  result               TEXT,
  checkpoint           TEXT,
  extra                BLOB                  -- the fields without a column, encoded; mostly NULL
);

CREATE TABLE key_rows (
  seq        INTEGER PRIMARY KEY,
  id         TEXT NOT NULL,
  name       TEXT NOT NULL,
  scopes     INTEGER NOT NULL,  -- bits: 1 produce, 2 work, 4 manage, 8 admin
  last_four  TEXT,
  created_at INTEGER NOT NULL,
  record     BLOB NOT NULL
);

CREATE TABLE meta_row (
  one            INTEGER PRIMARY KEY CHECK (one = 1),
  applied_index  INTEGER NOT NULL,  -- of the log: everything up to here is in this file
  writes         INTEGER NOT NULL,  -- numbers the transactions; job_rows.revision counts by it
  has_state      INTEGER NOT NULL,  -- 0: nothing was ever written, the columns below mean nothing
  now            INTEGER NOT NULL,
  next_sequence  INTEGER NOT NULL,
  next_lease     INTEGER NOT NULL,
  next_arrival   INTEGER NOT NULL,
  next_task      INTEGER NOT NULL,
  entries        INTEGER NOT NULL
, max_queues INTEGER NOT NULL DEFAULT 100000, max_queues_per_key INTEGER NOT NULL DEFAULT 10000, max_idempotency_keys_per_key INTEGER NOT NULL DEFAULT 1000000);

CREATE TABLE queue_rows (
  name            TEXT PRIMARY KEY NOT NULL,
  paused          INTEGER NOT NULL,
  draining        INTEGER NOT NULL,
  max_concurrency INTEGER,
  rate_limit      INTEGER,
  rate_window_ms  INTEGER,
  created_at      INTEGER NOT NULL,
  enqueued        INTEGER NOT NULL,
  completed       INTEGER NOT NULL,
  failed          INTEGER NOT NULL,
  dead            INTEGER NOT NULL,
  record          BLOB NOT NULL
, owner TEXT);

CREATE TABLE schedule_rows (
  seq         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL,
  name        TEXT,
  queue       TEXT,
  cron        TEXT,
  timezone    TEXT,
  payload     TEXT,
  unique_key  TEXT,
  max_retries INTEGER NOT NULL,
  paused      INTEGER NOT NULL,
  last_run    INTEGER,
  next_run    INTEGER,
  created_at  INTEGER NOT NULL,
  record      BLOB NOT NULL
);

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE sqlite_stat1(tbl,idx,stat);

CREATE TABLE state_names (state INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

CREATE TABLE sweep_rows (
  number   INTEGER PRIMARY KEY,
  queue    TEXT,
  state    INTEGER NOT NULL,
  before   INTEGER NOT NULL,
  revision INTEGER NOT NULL
);

CREATE TABLE tally_rows (
  queue  TEXT NOT NULL,
  state  INTEGER NOT NULL,
  minute INTEGER NOT NULL,
  count  INTEGER NOT NULL,
  PRIMARY KEY (queue, state, minute)
) WITHOUT ROWID;

CREATE TABLE task_rows (
  number  INTEGER PRIMARY KEY,
  kind    INTEGER NOT NULL,
  subject TEXT,
  bound   INTEGER NOT NULL,
  cursor  INTEGER NOT NULL,
  flag    INTEGER NOT NULL,
  job_id  TEXT
);

CREATE TABLE webhook_rows (
  seq        INTEGER PRIMARY KEY,
  id         TEXT NOT NULL,
  url        TEXT NOT NULL,
  active     INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  record     BLOB NOT NULL
);

CREATE TABLE window_rows (
  queue  TEXT NOT NULL,
  keyed  INTEGER NOT NULL,
  key    TEXT NOT NULL,
  claims TEXT NOT NULL,  -- JSON: [[milliseconds, claims], …]
  PRIMARY KEY (queue, keyed, key)
) WITHOUT ROWID;

CREATE TABLE worker_rows (
  id             TEXT PRIMARY KEY NOT NULL,
  hostname       TEXT,
  queues         TEXT NOT NULL,  -- JSON array
  active         INTEGER NOT NULL,
  last_heartbeat INTEGER NOT NULL,
  started_at     INTEGER NOT NULL,
  record         BLOB NOT NULL
, owner TEXT);

CREATE VIEW audit_log AS
SELECT number, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS at,
  key_id, name, address, action, target, outcome
FROM audit_rows;

CREATE VIEW batches AS
SELECT id, total, pending, succeeded, failed, callback_queue, callback_payload, callback_job_id,
  strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') AS finished_at
FROM batch_rows;

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

CREATE VIEW job_errors AS
SELECT j.id AS job_id, e.ordinal, e.attempt, e.error, e.backtrace, e.worker_id,
  strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1000.0, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', e.started_at / 1000.0, 'unixepoch') AS started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', e.retry_at / 1000.0, 'unixepoch') AS retry_at
FROM job_error_rows e JOIN jobs j ON j.seq = e.job;

CREATE VIEW job_logs AS
SELECT j.id AS job_id, l.number,
  CASE l.level WHEN 0 THEN 'debug' WHEN 1 THEN 'info' WHEN 2 THEN 'warning' ELSE 'error' END AS level,
  l.message,
  strftime('%Y-%m-%dT%H:%M:%fZ', l.at / 1000.0, 'unixepoch') AS at
FROM job_log_rows l JOIN jobs j ON j.seq = l.job;

CREATE VIEW jobs AS
SELECT
  'job_'
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.created_at >> 45) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.created_at >> 40) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.created_at >> 35) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.created_at >> 30) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.created_at >> 25) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.created_at >> 20) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.created_at >> 15) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.created_at >> 10) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.created_at >> 5) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.created_at >> 0) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.seq >> 43) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.seq >> 38) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.seq >> 33) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.seq >> 28) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.seq >> 23) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.seq >> 18) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.seq >> 13) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.seq >> 8) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.seq >> 3) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + (((j.seq & 7) << 2) | (j.id_random >> 30)), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.id_random >> 25) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.id_random >> 20) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.id_random >> 15) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.id_random >> 10) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.id_random >> 5) & 31), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((j.id_random >> 0) & 31), 1) AS id,
  j.queue,
  s.name AS state,
  j.payload,
  j.priority,
  j.attempt,
  j.max_retries,
  CASE j.retry_backoff WHEN 0 THEN 'none' WHEN 1 THEN 'fixed' WHEN 2 THEN 'linear' ELSE 'exponential' END
    AS retry_backoff,
  j.retry_base_delay_ms,
  j.retry_max_delay_ms,
  j.unique_key,
  j.batch_id,
  j.schedule_id,
  j.group_name,
  j.worker_id,
  j.hostname,
  j.tags,
  j.progress,
  j.checkpoint,
  j.result,
  j.end_reason,
  j.error_count,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.lease_expires_at / 1000.0, 'unixepoch') AS lease_expires_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.scheduled_at / 1000.0, 'unixepoch') AS scheduled_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.run_at / 1000.0, 'unixepoch') AS run_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.expire_at / 1000.0, 'unixepoch') AS expire_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.created_at / 1000.0, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.started_at / 1000.0, 'unixepoch') AS started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', CASE WHEN j.state = 5 THEN j.ended_at END / 1000.0, 'unixepoch') AS completed_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.failed_at / 1000.0, 'unixepoch') AS failed_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', j.ended_at / 1000.0, 'unixepoch') AS ended_at,
  j.seq
FROM job_rows j JOIN state_names s ON s.state = j.state
WHERE NOT EXISTS (SELECT 1 FROM sweep_rows w WHERE w.queue = j.queue AND w.state = j.state
                  AND j.ended_at < w.before AND j.revision < w.revision);

CREATE VIEW queue_stats AS
SELECT name AS queue, enqueued, completed, failed, dead FROM queue_rows;

CREATE VIEW queues AS
SELECT name, paused, draining, max_concurrency, rate_limit, rate_window_ms,
  strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at, owner
FROM queue_rows;

CREATE VIEW rate_limit_window AS
SELECT w.queue, CASE WHEN w.keyed THEN w.key END AS key,
  strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(c.value, '$[0]') / 1000.0, 'unixepoch') AS fetched_at,
  json_extract(c.value, '$[1]') AS claims
FROM window_rows w, json_each(w.claims) c;

CREATE VIEW schedules AS
SELECT id, name, queue, cron, timezone, payload, unique_key, max_retries, paused,
  strftime('%Y-%m-%dT%H:%M:%fZ', last_run / 1000.0, 'unixepoch') AS last_run,
  strftime('%Y-%m-%dT%H:%M:%fZ', next_run / 1000.0, 'unixepoch') AS next_run,
  strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at
FROM schedule_rows;

CREATE VIEW unique_locks AS
SELECT r.queue, r.unique_key, j.id AS job_id,
  strftime('%Y-%m-%dT%H:%M:%fZ', r.unique_until / 1000.0, 'unixepoch') AS expires_at
FROM job_rows r JOIN jobs j ON j.seq = r.seq
WHERE r.state < 5 AND (r.flags & 4) != 0;

CREATE VIEW workers AS
SELECT id, hostname, queues, active,
  strftime('%Y-%m-%dT%H:%M:%fZ', last_heartbeat / 1000.0, 'unixepoch') AS last_heartbeat,
  strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS started_at, owner
FROM worker_rows;

