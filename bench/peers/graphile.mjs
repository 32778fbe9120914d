// graphile-worker on PostgreSQL. Jobs taken in batches go through its local queue, with completions
// written together; jobs taken one by one use neither.
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { main } from './load.mjs';

const NAME = 'bench';
const BATCH_DELAY_MS = 5;

const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message);
});
let pool;
let utils;

await main({
  async open({ port }) {
    pool = new pg.Pool({ connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`, max: 55 });
    utils = await makeWorkerUtils({ pgPool: pool, logger });
    await utils.migrate();
  },

  async put(_producer, payloads) {
    if (payloads.length === 1) await utils.addJob(NAME, payloads[0]);
    else await utils.addJobs(payloads.map((payload) => ({ identifier: NAME, payload })));
  },

  async work({ concurrency, batch, started, finished }) {
    const worker = { concurrentJobs: concurrency, pollInterval: 1000, schema: 'graphile_worker' };
    if (batch > 1) {
      worker.localQueue = { size: batch };
      worker.completeJobBatchDelay = BATCH_DELAY_MS;
      worker.concurrentJobs = 50;
    }
    const runner = await run({
      pgPool: pool, logger, noHandleSignals: true, preset: { worker },
      taskList: { [NAME]: async (job) => started(job) },
    });
    runner.events.on('job:complete', () => finished(1));
  },
});
