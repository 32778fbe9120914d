// pg-boss on PostgreSQL. Workers call fetch and complete in a loop, since its own `work` sleeps between
// fetches and would show the length of that sleep; only latency is measured with `work`, polling as
// often as it allows.
import PgBoss from 'pg-boss';
import { main } from './load.mjs';

const NAME = 'bench';
const POLLING_SECONDS = 0.5;
const EMPTY_SLEEP_MS = 5;

let boss;

async function loop({ batch, started, finished }) {
  for (;;) {
    const jobs = await boss.fetch(NAME, { batchSize: batch });
    if (jobs.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, EMPTY_SLEEP_MS));
      continue;
    }
    for (const job of jobs) await started(job.data);
    await boss.complete(NAME, jobs.map((job) => job.id));
    finished(jobs.length);
  }
}

await main({
  async open({ port }) {
    boss = new PgBoss({
      connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
      max: 50, supervise: false, schedule: false,
    });
    boss.on('error', (error) => { throw error; });
    await boss.start();
    if (!(await boss.getQueue(NAME))) await boss.createQueue(NAME, { expireInHours: 23 });
  },

  async put(_producer, payloads) {
    if (payloads.length === 1) await boss.send(NAME, payloads[0]);
    else await boss.insert(payloads.map((data) => ({ name: NAME, data })));
  },

  async work(how) {
    if (how.latency) {
      const options = { batchSize: how.concurrency, pollingIntervalSeconds: POLLING_SECONDS };
      await boss.work(NAME, options, async (jobs) => {
        for (const job of jobs) await how.started(job.data);
        how.finished(jobs.length);
      });
      return;
    }
    for (let i = 0; i < how.concurrency; i += 1)
      loop(how).catch((error) => { console.error(error); process.exit(1); });
  },
});
