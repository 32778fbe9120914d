-- When a failed attempt had started, and when the next one was to come. NULL: not known, or none.
ALTER TABLE job_error_rows ADD COLUMN started_at INTEGER;
ALTER TABLE job_error_rows ADD COLUMN retry_at INTEGER;

DROP VIEW job_errors;
CREATE VIEW job_errors AS
SELECT j.id AS job_id, e.ordinal, e.attempt, e.error, e.backtrace, e.worker_id,
  strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1000.0, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', e.started_at / 1000.0, 'unixepoch') AS started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', e.retry_at / 1000.0, 'unixepoch') AS retry_at
FROM job_error_rows e JOIN jobs j ON j.seq = e.job;
