-- API keys. The secret is nowhere: the record holds its digest.
CREATE TABLE key_rows (
  seq        INTEGER PRIMARY KEY,
  id         TEXT NOT NULL,
  name       TEXT NOT NULL,
  scopes     INTEGER NOT NULL,  -- bits: 1 produce, 2 work, 4 manage, 8 admin
  last_four  TEXT,
  created_at INTEGER NOT NULL,
  record     BLOB NOT NULL
);

-- What was done by those who manage.
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
CREATE INDEX audit_rows_by_time ON audit_rows (at);

CREATE VIEW audit_log AS
SELECT number, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS at,
  key_id, name, address, action, target, outcome
FROM audit_rows;

CREATE TABLE webhook_rows (
  seq        INTEGER PRIMARY KEY,
  id         TEXT NOT NULL,
  url        TEXT NOT NULL,
  active     INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  record     BLOB NOT NULL
);

-- Events on their way to webhooks, and those that have ended, for a while.
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
CREATE INDEX delivery_rows_by_webhook ON delivery_rows (webhook);
CREATE INDEX delivery_rows_by_end ON delivery_rows (ended_at);
CREATE INDEX delivery_rows_waiting ON delivery_rows (seq) WHERE state = 0;
