-- Lines that workers wrote down while they ran a job. They go with the job.
CREATE TABLE job_log_rows (
  job     INTEGER NOT NULL,  -- job_rows.seq
  number  INTEGER NOT NULL,  -- counts the job's lines from 1
  at      INTEGER NOT NULL,
  level   INTEGER NOT NULL,  -- 0 debug, 1 info, 2 warning, 3 error
  message TEXT,
  PRIMARY KEY (job, number)
) WITHOUT ROWID;

CREATE VIEW job_logs AS
SELECT j.id AS job_id, l.number,
  CASE l.level WHEN 0 THEN 'debug' WHEN 1 THEN 'info' WHEN 2 THEN 'warning' ELSE 'error' END AS level,
  l.message,
  strftime('%Y-%m-%dT%H:%M:%fZ', l.at / 1000.0, 'unixepoch') AS at
FROM job_log_rows l JOIN jobs j ON j.seq = l.job;
