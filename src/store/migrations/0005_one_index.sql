-- One index for queues and states where there were two: every enqueue and every end of a job pays for
-- each. A condition on a queue alone names all states and so finds it too.
DROP INDEX job_rows_by_queue;
DROP INDEX job_rows_by_state;
CREATE INDEX job_rows_by_state ON job_rows (state, queue, ended_at);
-- All queues together, in the order of creation. Pending jobs, of which there can be most and which
-- come and go fastest, are found by queue. Who wants this index says `state != 2`.
CREATE INDEX job_rows_in_order ON job_rows (state) WHERE state != 2;
-- What the planner is to think of them, whatever the file holds: a queue and a state together are worth
-- more than a state, and a queue alone is looked for under each state. (With fewer rows than SQLite
-- assumes of the other tables it would read all jobs before it shows their errors.)
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 VALUES
  ('job_rows', 'job_rows_by_state', '2000000 10000 100 1'),
  ('job_rows', 'job_rows_by_group', '2000000 100 10'),
  ('job_rows', 'job_rows_in_order', '2000000 10000');
