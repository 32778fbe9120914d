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
