// The load of bench_load for systems whose client is a Node library: same options, same jobs, same
// rules, same JSON. Here the library is part of what is measured, since nobody uses the system without.
//
// A peer offers:
//   open(options)                  connects and makes the queue if there is none
//   put(producer, payloads)        resolves when the system has confirmed all of them
//   work({concurrency, batch, started, finished, idle})
//                                  starts workers; `await started(payload)` when a job begins,
//                                  `finished(count)` when its end is confirmed or sent
import { parseArgs } from 'node:util';

const PAYLOAD_BYTES = 200;
const STAMP_DIGITS = 20;
const DRAIN_LIMIT_MS = 60_000;
const NS_PER_MS = 1e6;
// Log-linear buckets as in bench/load/histogram.cpp, so that histograms add up.
const FINE = 64;

const TEXT = (() => {
  const frame = JSON.stringify({ stamp: '0'.repeat(STAMP_DIGITS), text: '' });
  const alphabet = 'abcdefghijklmnopqrstuvwxyz';
  return alphabet.repeat(10).slice(0, PAYLOAD_BYTES - frame.length);
})();

const now = () => Number(process.hrtime.bigint());

function payload(stamp) {
  return { stamp: String(stamp).padStart(STAMP_DIGITS, '0'), text: TEXT };
}

function readOptions() {
  const text = (fallback) => ({ type: 'string', default: String(fallback) });
  const { values } = parseArgs({
    options: {
      mode: text('both'), port: text(0), producers: text(50), workers: text(50),
      'put-batch': text(1), 'take-batch': text(1), seconds: text(5), 'warm-up': text(1),
      jobs: text(0), backlog: text(0), window: text(1000), rate: text(100),
    },
  });
  const out = { mode: values.mode };
  for (const [name, value] of Object.entries(values)) {
    if (name === 'mode') continue;
    out[name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())] = Number(value);
  }
  return out;
}

class Histogram {
  counts = new Map();
  samples = 0;

  add(ns) {
    const shift = Math.max(0, Math.floor(Math.log2(ns)) - Math.log2(FINE));
    const width = 2 ** shift;
    const upper = (Math.floor(ns / width) + 1) * width - 1;
    this.counts.set(upper, (this.counts.get(upper) ?? 0) + 1);
    this.samples += 1;
  }

  list() {
    return [...this.counts].sort((a, b) => a[0] - b[0]);
  }

  quantileUs(share) {
    let seen = 0;
    for (const [upper, count] of this.list()) {
      seen += count;
      if (seen >= share * this.samples) return upper / 1000;
    }
    return 0;
  }
}

class Run {
  phase = 'warm-up';
  putStarted = 0;
  put = 0;
  acked = 0;
  late = 0;
  lastAnswer = 0;
  histogram = new Histogram();
  waiters = [];
  // Workers of a consume start only when the clock does; each may hold its first fetch by then.
  begun = new Promise((resolve) => { this.begin = resolve; });

  constructor(peer, options) {
    this.peer = peer;
    this.options = options;
  }

  /// Resolves when a counter has moved.
  moved() {
    return new Promise((resolve) => this.waiters.push(resolve));
  }

  notify() {
    this.lastAnswer = now();
    const waiters = this.waiters;
    this.waiters = [];
    for (const resolve of waiters) resolve();
  }

  async putJobs(producer, stamp) {
    const { putBatch } = this.options;
    this.putStarted += putBatch;
    await this.peer.put(producer, Array.from({ length: putBatch }, () => payload(stamp)));
    this.put += putBatch;
    this.notify();
  }

  async produce(producer) {
    const { mode, putBatch, jobs, window } = this.options;
    while (this.phase !== 'ending') {
      if (jobs > 0 && this.putStarted + putBatch > jobs) return;
      if (mode === 'both' && this.putStarted + putBatch > this.acked + window) await this.moved();
      else await this.putJobs(producer, 0);
    }
  }

  /// Sends each job when it is due; one that finds all producers busy counts from when it was due.
  async produceAtRate() {
    const step = 1e9 / this.options.rate;
    const overdue = [];
    const free = Array.from({ length: this.options.producers }, (_, i) => i);
    const send = async (producer, stamp) => {
      await this.putJobs(producer, stamp);
      if (overdue.length > 0 && this.phase !== 'ending') send(producer, overdue.shift()).catch(fail);
      else free.push(producer);
    };
    let due = now();
    while (this.phase !== 'ending') {
      for (; due <= now(); due += step) {
        if (free.length > 0) {
          send(free.pop(), now()).catch(fail);
        } else {
          overdue.push(Math.floor(due));
          this.late += 1;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, (due - now()) / NS_PER_MS)));
    }
  }

  startWorkers() {
    const { workers, takeBatch, mode, backlog, window } = this.options;
    return this.peer.work({
      concurrency: workers,
      batch: takeBatch,
      latency: mode === 'latency',
      started: async (job) => {
        if (mode === 'consume') await this.begun;
        const stamp = Number(job.stamp);
        if (this.phase === 'measuring' && stamp >= this.measureFrom) this.histogram.add(now() - stamp);
        while (backlog > 0 && this.phase !== 'ending' && this.acked > this.put + window)
          await this.moved();
      },
      finished: (count) => {
        this.acked += count;
        this.notify();
      },
    });
  }

  async measure() {
    const { mode, seconds, jobs } = this.options;
    this.phase = 'measuring';
    this.measureFrom = now();
    this.begin();
    const before = { put: this.put, acked: this.acked, cpu: process.cpuUsage() };
    const enough = () => jobs > 0 && (mode === 'consume' ? this.acked : this.put) >= jobs;
    const end = this.measureFrom + seconds * 1e9;
    while (now() < end && !enough())
      await new Promise((resolve) => setTimeout(resolve, Math.min(20, (end - now()) / NS_PER_MS)));
    const until = enough() ? this.lastAnswer : now();
    const elapsed = (until - this.measureFrom) / 1e9;
    this.phase = 'ending';
    const cpu = process.cpuUsage(before.cpu);
    return {
      seconds: elapsed, enqueued: this.put - before.put, acked: this.acked - before.acked,
      enqueued_per_second: (this.put - before.put) / elapsed,
      acked_per_second: (this.acked - before.acked) / elapsed,
      client_cpu: (cpu.user + cpu.system) / 1e6 / elapsed,
    };
  }

  async go() {
    const { mode, producers, warmUp, backlog } = this.options;
    await this.peer.open(this.options);
    if (mode !== 'enqueue') await this.startWorkers();
    const sending = [];
    if (mode === 'latency') sending.push(this.produceAtRate());
    else if (mode !== 'consume')
      for (let i = 0; i < producers; i += 1) sending.push(this.produce(i));
    for (const one of sending) one.catch(fail);
    await new Promise((resolve) => setTimeout(resolve, warmUp * 1000));
    const figures = await this.measure();
    this.notify();
    await Promise.all(sending);
    const drains = mode === 'latency' || (mode === 'both' && backlog === 0);
    const limit = now() + DRAIN_LIMIT_MS * NS_PER_MS;
    const settled = () => this.put === this.putStarted && this.acked >= this.put;
    while (drains && !settled() && now() < limit)
      await new Promise((resolve) => setTimeout(resolve, 10));
    return {
      ...figures, busy: 0, late: this.late, unaccounted: drains ? this.put - this.acked : 0,
      latency_us: {
        p50: this.histogram.quantileUs(0.5), p99: this.histogram.quantileUs(0.99),
        p999: this.histogram.quantileUs(0.999), samples: this.histogram.samples,
      },
      histogram: this.histogram.list(),
    };
  }
}

function fail(error) {
  console.error(error);
  process.exit(1);
}

export async function main(peer) {
  try {
    const figures = await new Run(peer, readOptions()).go();
    // The libraries' own ways to stop wait for jobs and timers; nothing is left that matters.
    process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0));
  } catch (error) {
    fail(error);
  }
}
