// A demo workload for a real server: queues with believable jobs, a worker that works, and one of each
// thing the screens show.
const QUEUES = ['emails.send', 'emails.bulk', 'reports.generate', 'media.transcode', 'payments.capture', 'search.index']
const ERRORS = ['SMTP timeout after 30s', 'SMTP 421: too many connections from 10.4.2.17', 'OOM killed (limit 512 MiB)']
const TENANTS = ['acme-corp', 'globex', 'initech', 'umbrella']

export const SPECIAL = '{"to":"user@example.com","template":"welcome","exact":9007199254740993,"ratio":1.0,"tiny":1e-400,"html":"<img src=x onerror=window.hit=1><script>window.hit=2</script>","list":[1,2,{"deep":[true,null]}]}'

export class Api {
  constructor(url) {
    this.url = url
  }
  async ask(method, path, body) {
    const answer = await fetch(`${this.url}/api/v1${path}`, { method, headers: { 'content-type': 'application/json' }, body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body) })
    const text = await answer.text()
    if (!answer.ok && answer.status !== 204) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text ? JSON.parse(text) : null
  }
  get(path) {
    return this.ask('GET', path)
  }
  post(path, body = {}) {
    return this.ask('POST', path, body)
  }
}

const some = (list, n) => list[n % list.length]
const payload = (queue, n) =>
  queue.startsWith('emails') ? { to: `user-${n}@example.com`, template: some(['welcome', 'receipt', 'password-reset'], n), locale: some(['en', 'de'], n) }
  : queue.startsWith('reports') ? { report: some(['daily', 'churn'], n), account: 1000 + n }
  : queue.startsWith('media') ? { source: `s3://uploads/${n}.mov`, presets: ['1080p', 'audio'] }
  : { user: n, since: '2026-02-10T00:00:00Z' }

/** Fills an empty server; gives the ids that tests look at. */
export async function fill(api) {
  const ids = {}
  const jobs = []
  for (const queue of QUEUES)
    for (let n = 0; n < 120; n++) jobs.push({ queue, payload: payload(queue, n), tags: { tenant: some(TENANTS, n) }, max_retries: 3, retry_base_delay: '1h', ...(n % 9 ? {} : { priority: 'high' }), ...(queue === 'emails.bulk' ? { group: some(['spring', 'autumn'], n) } : {}) })
  await api.post('/enqueue/batch', { jobs })
  ids.special = (await api.post('/enqueue', `{"queue":"emails.special","unique_key":"send-welcome-user@example.com","tags":{"tenant":"acme-corp"},"max_retries":5,"payload":${SPECIAL}}`)).job_id
  const claimed = await api.post('/fetch', { queues: ['emails.special'], worker_id: 'worker-a1b2c3', hostname: 'pod-xyz-1', lease_duration: 3600 })
  await api.post(`/fail/${claimed.job_id}`, { lease_id: claimed.lease_id, error: 'SMTP connection timeout', backtrace: 'at send (mail/smtp.js:42:11)\nat run (worker.js:77:3)', retry_in: 0.01 })
  const second = await api.post('/fetch', { queues: ['emails.special'], worker_id: 'worker-a1b2c3', hostname: 'pod-xyz-1', lease_duration: 3600, timeout: 5 })
  await api.post('/heartbeat', { worker_id: 'worker-a1b2c3', jobs: { [second.job_id]: { lease_id: second.lease_id, progress: { current: 450, total: 1000, message: 'Sending batch' }, checkpoint: { offset: 47000 } } } })
  await api.post(`/jobs/${ids.special}/logs`, { lines: [{ message: 'Connecting to smtp.example.com:587' }, { message: 'STARTTLS negotiated', level: 'debug' }, { message: 'Sending batch 2 of 3' }] }).catch(() => {})
  for (let n = 0; n < 24; n++) {
    const job = await api.post('/fetch', { queues: [some(['emails.send', 'reports.generate', 'media.transcode'], n)], worker_id: 'worker-d4e5f6', hostname: 'pod-xyz-2' })
    if (job) await api.post(`/fail/${job.job_id}`, { lease_id: job.lease_id, error: some(ERRORS, n), backtrace: 'at run (worker.js:77:3)', ...(n % 4 === 3 ? {} : { retry: false }) })
    if (n === 0) ids.dead = job.job_id
  }
  await api.post('/enqueue', { queue: 'reports.generate', payload: { report: 'quarterly' }, delay: '1h' })
  await api.post('/enqueue/batch', { jobs: Array.from({ length: 40 }, (_, n) => ({ queue: 'sync.users', payload: payload('sync', n), group: some(['spring', 'autumn', 'vip'], n) })), batch: { callback_queue: 'emails.done', callback_payload: { campaign: 'c1' } } }).then((b) => (ids.batch = b.batch_id))
  await api.post('/queues/sync.users/pause')
  ids.pending = (await api.post('/enqueue', { queue: 'sync.users', payload: { user: 7 } })).job_id
  await api.post('/queues/emails.send/throttle', { rate: 12000, period: '1m' })
  await api.post('/queues/emails.send/concurrency', { max: 10 })
  ids.schedule = (await api.post('/schedules', { name: 'daily-report', queue: 'reports.generate', cron: '0 9 * * *', timezone: 'America/New_York', payload: { type: 'daily' } })).id
  await api.post('/schedules', { name: 'sync-users', queue: 'sync.users', cron: '*/15 * * * *', payload: {} })
  ids.webhook = (await api.post('/webhooks', { url: 'https://hooks.example.com/jobbie', events: ['dead'], queue: 'emails.*', secret: 'of the demo' })).id
  await api.post('/keys', { name: 'mailer', scopes: ['produce', 'work'], queues: ['emails.*'] })
  await api.post('/workers', { worker_id: 'worker-a1b2c3', hostname: 'pod-xyz-1', concurrency: 10, cores: 4, ram_mb: 8192, queues: ['emails.*'] }).catch(() => {})
  return ids
}

/** Works until it is told to stop: claims, waits a moment, acks; and puts new jobs in. */
export function work(api) {
  let going = true
  let n = 1000
  const pause = (ms) => new Promise((done) => setTimeout(done, ms))
  async function worker(id, queues) {
    while (going) {
      try {
        const job = await api.post('/fetch', { queues, worker_id: id, hostname: `pod-xyz-${Number(id.slice(-1)) + 2}`, timeout: 1 })
        if (!job) continue
        await pause(40 + Math.random() * 200)
        if (Math.random() < 0.05) await api.post(`/fail/${job.job_id}`, { lease_id: job.lease_id, error: some(ERRORS, n), retry_in: 30 })
        else await api.post(`/ack/${job.job_id}`, { lease_id: job.lease_id, result: { ok: true } })
      } catch {
        await pause(300)
      }
    }
  }
  async function producer() {
    while (going) {
      const queue = some(QUEUES, n++)
      await api.post('/enqueue', { queue, payload: payload(queue, n), tags: { tenant: some(TENANTS, n) } }).catch(() => {})
      await pause(120)
    }
  }
  const all = [worker('worker-1', ['emails.bulk', 'reports.*', 'media.*']), worker('worker-2', ['payments.*', 'search.*']), producer()]
  return async () => {
    going = false
    await Promise.all(all)
  }
}
