// BullMQ on Redis. Completed jobs are removed at once, which is its fastest setting.
import { Queue, Worker } from 'bullmq';
import { main } from './load.mjs';

const NAME = 'bench';
const KEEP_NOTHING = { removeOnComplete: true };

let connection;
let queue;

await main({
  async open({ port }) {
    connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
    queue = new Queue(NAME, { connection });
    await queue.waitUntilReady();
  },

  async put(_producer, payloads) {
    if (payloads.length === 1) await queue.add(NAME, payloads[0], KEEP_NOTHING);
    else await queue.addBulk(payloads.map((data) => ({ name: NAME, data, opts: KEEP_NOTHING })));
  },

  // There is no fetch of several: `batch` has no meaning here.
  async work({ concurrency, started, finished }) {
    const options = { connection, concurrency, lockDuration: 3_600_000 };
    const worker = new Worker(NAME, async (job) => started(job.data), options);
    worker.on('completed', () => finished(1));
    await worker.waitUntilReady();
  },
});
