// A stand-in for the server's API, with moving data, so that screens can be made without a binary.
// `node dev/mock.mjs [--port 21300] [--quiet]`; it also serves dist/ under /ui when that exists.
import { createServer } from 'node:http'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { admin } from './mock-admin.mjs'

const flag = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : process.argv[at + 1]
}
const port = Number(flag('port', 21300))
const moving = !process.argv.includes('--quiet')
const started = Date.now()

let seed = 42
const random = () => {
  seed = (seed * 1664525 + 1013904223) >>> 0
  return seed / 2 ** 32
}
const pick = (list) => list[Math.floor(random() * list.length)]
const iso = (ms) => (ms == null ? null : new Date(ms).toISOString())

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
let counter = 0
function ulid(prefix, at = Date.now()) {
  let time = at
  let head = ''
  for (let i = 0; i < 10; i++) {
    head = CROCKFORD[time % 32] + head
    time = Math.floor(time / 32)
  }
  let rest = counter++
  let tail = ''
  for (let i = 0; i < 16; i++) {
    tail = (i < 6 ? CROCKFORD[rest % 32] : pick(CROCKFORD)) + tail
    rest = Math.floor(rest / 32)
  }
  return `${prefix}_${head}${tail}`
}

const ENDED = ['completed', 'dead', 'cancelled']
const queues = new Map()
const jobs = new Map()
const batches = new Map()
const schedules = new Map()
const workers = new Map()
const bulks = new Map()
const groupsPaused = new Set()
const logs = new Map()
const series = [] // a point each second
let eventId = 1000
const watchers = new Set()
const history = []

function queue(name) {
  if (!queues.has(name))
    queues.set(name, {
      name, paused: false, draining: false, clearing: false, completed_base: 0, unique_locks: 0,
      limits: { concurrency: null, concurrency_per: null, throttle: null, throttle_per: null },
      retention: { completed: '7d', dead: '30d', cancelled: '30d' }, lease: { duration: 60 }, fairness: 'priority',
      totals: { enqueued: 0, started: 0, completed: 0, failed: 0, dead: 0, cancelled: 0, leases_expired: 0 },
      created_at: started - 86400e3 * 12, speed: 0, recent: [],
    })
  return queues.get(name)
}

function emit(type, job, more = {}) {
  const at = Date.now()
  const data = { type, job_id: job?.id ?? null, queue: job?.queue ?? more.queue ?? null, at: iso(at), ...more }
  if (job) data.attempt = job.attempt
  const event = { id: ++eventId, type, data }
  history.push(event)
  if (history.length > 5000) history.shift()
  for (const w of watchers) w.send(event)
  const point = series[series.length - 1]
  if (point && point[type] != null) {
    point[type]++
    if (type === 'started') point.wait.push(more.wait_ms ?? 0)
    if (type === 'completed' || type === 'failed') point.run.push(more.run_ms ?? 0)
  }
  if (job && ['enqueued', 'completed', 'failed'].includes(type)) queue(job.queue).recent.push([at, type])
}

const blank = (t) => ({ t, enqueued: 0, started: 0, completed: 0, failed: 0, dead: 0, cancelled: 0, wait: [], run: [] })

function makeJob(queueName, payload, more = {}) {
  const now = more.created ?? Date.now()
  const job = {
    id: ulid('job', now), queue: queueName, payload: JSON.stringify(payload), state: 'pending', priority: 'normal',
    attempt: 0, max_retries: 3, retry_backoff: 'exponential', created: now, started: null, ended: null, due: null,
    errors: [], error_count: 0, tags: {}, worker: null, progress: null, checkpoint: null, result: null, batch_id: null,
    group: null, unique_key: null, depends_on: [], timeline: [], schedule_id: null, ...more,
  }
  jobs.set(job.id, job)
  job.timeline.push({ at: now, event: 'enqueued' })
  queue(queueName).totals.enqueued++
  return job
}

const ERRORS = {
  'emails.send': ['SMTP timeout after 30s', 'SMTP 421: too many connections from 10.4.2.17', 'Mailbox user-4821 is full'],
  'emails.bulk': ['SMTP timeout after 30s', 'Template "spring-sale" has no part called "footer"'],
  'reports.generate': ['OOM killed (limit 512 MiB)', 'Query cancelled: statement timeout'],
  'media.transcode': ['ffmpeg exited with 187: Invalid data found when processing input'],
  'payments.capture': ['HTTP 502 from gateway.example.com'],
}
const TENANTS = ['acme-corp', 'globex', 'initech', 'umbrella', 'hooli']
const PEOPLE = ['ada', 'grace', 'linus', 'barbara', 'ken', 'dennis', 'margaret', 'edsger', 'donald', 'radia']
function payloadOf(q) {
  const who = `${pick(PEOPLE)}@${pick(['example.com', 'example.org', 'mail.test'])}`
  if (q.startsWith('emails')) return { to: who, template: pick(['welcome', 'receipt', 'password-reset', 'spring-sale']), locale: pick(['en', 'de', 'fr']) }
  if (q.startsWith('reports')) return { report: pick(['daily', 'weekly', 'churn']), account: 1000 + Math.floor(random() * 9000), format: 'pdf' }
  if (q.startsWith('media')) return { source: `s3://uploads/${Math.floor(random() * 1e6)}.mov`, presets: ['1080p', '720p', 'audio'] }
  if (q.startsWith('payments')) return { invoice: `inv_${Math.floor(random() * 1e7)}`, amount: Math.floor(random() * 90000) / 100, currency: 'EUR' }
  return { user: Math.floor(random() * 1e6), since: '2026-02-10T00:00:00Z' }
}

const shape = [
  ['emails.send', 42, 6, 3, 12400, 2.1], ['emails.bulk', 1203, 5, 0, 892, 0.5], ['reports.generate', 0, 1, 2, 471, 0.1],
  ['sync.users', 318, 0, 0, 3214, 0], ['media.transcode', 17, 4, 4, 1290, 0.2], ['payments.capture', 3, 2, 1, 48210, 1.4],
  ['search.index', 88, 3, 0, 240771, 3.0],
]
function fill() {
  for (let i = 0; i < 6; i++) {
    const host = `pod-${pick(['xyz', 'abc', 'kyu'])}-${i + 1}`
    const id = `worker-${ulid('w').slice(-6).toLowerCase()}`
    workers.set(id, {
      id, hostname: host, name: null, queues: i < 3 ? ['emails.*', 'payments.capture'] : i < 5 ? ['*'] : ['media.*'],
      roles: i === 5 ? ['gpu'] : [], tags: i % 2 ? ['eu'] : ['us'], concurrency: i === 5 ? 5 : 10, cores: i === 5 ? 16 : 4,
      ram_mb: i === 5 ? 65536 : 8192, draining: i === 4, started: started - Math.floor(random() * 20 * 3600e3), seen: Date.now(),
    })
  }
  for (const [name, pending, active, dead, done, speed] of shape) {
    const q = queue(name)
    q.completed_base = done
    q.speed = speed
    q.totals.completed = done
    for (let i = 0; i < Math.min(pending, 1300); i++)
      makeJob(name, payloadOf(name), { created: Date.now() - Math.floor(random() * 600e3), tags: { tenant: pick(TENANTS) }, priority: random() < 0.1 ? 'high' : 'normal', max_retries: 5, group: name === 'emails.bulk' ? pick(['spring', 'autumn', 'vip']) : null })
    for (let i = 0; i < active; i++) start(makeJob(name, payloadOf(name), { created: Date.now() - Math.floor(random() * 60e3), tags: { tenant: pick(TENANTS) }, max_retries: 5 }))
    for (let i = 0; i < dead; i++) {
      const job = makeJob(name, payloadOf(name), { created: Date.now() - 120e3 - Math.floor(random() * 3600e3), tags: { tenant: pick(TENANTS) }, max_retries: 3 })
      for (let a = 1; a <= 3; a++) fakeFail(job, a, job.created + a * 30e3)
      job.state = 'dead'; job.ended = job.created + 95e3; job.end_reason = 'attempts_used_up'
      q.totals.dead++
    }
    for (let i = 0; i < 30; i++) {
      const at = Date.now() - Math.floor(random() * 7200e3)
      const job = makeJob(name, payloadOf(name), { created: at, tags: { tenant: pick(TENANTS) } })
      job.state = 'completed'; job.attempt = 1; job.started = at + 800; job.ended = at + 2300; job.worker = pick([...workers.keys()])
      job.result = JSON.stringify({ ok: true, id: Math.floor(random() * 1e9) })
      q.completed_base--
    }
  }
  queue('emails.send').limits.throttle = { rate: 200, period: '1m' }
  queue('emails.send').limits.concurrency = { max: 10 }
  queue('emails.send').unique_locks = 7
  queue('sync.users').paused = true
  const odd = makeJob('emails.send', {}, { unique_key: 'send-welcome-user@example.com', tags: { tenant: 'acme-corp' }, max_retries: 5, created: Date.now() - 16e3 })
  odd.payload = '{"to":"user@example.com","template":"welcome","exact":9007199254740993,"ratio":1.0,"tiny":1e-400,"html":"<img src=x onerror=alert(1)><script>alert(2)</script>","list":[1,2,{"deep":[true,null]}]}'
  fakeFail(odd, 1, odd.created + 4200)
  odd.attempt = 1
  start(odd)
  odd.hold = true
  odd.progress = '{"current":450,"total":1000,"message":"Sending batch"}'
  logs.set(odd.id, ['Connecting to smtp.example.com:587', 'STARTTLS negotiated', 'Sending batch 1 of 3', 'Sending batch 2 of 3'].map((message, i) => ({ number: i + 1, at: iso(odd.started + i * 900), level: i === 1 ? 'debug' : 'info', message })))
  const later = makeJob('reports.generate', { report: 'quarterly' }, { created: Date.now() - 4e3 })
  later.state = 'scheduled'; later.due = Date.now() + 3600e3
  const batchId = ulid('batch', started - 300e3)
  batches.set(batchId, { id: batchId, total: 3, pending: 1, succeeded: 2, failed: 0, callback_queue: 'emails.done', callback_payload: '{"campaign":"c1"}', callback_job_id: null, created: started - 300e3, finished: null })
  odd.batch_id = batchId
  const b2 = ulid('batch', started - 7200e3)
  batches.set(b2, { id: b2, total: 1200, pending: 0, succeeded: 1193, failed: 7, callback_queue: 'reports.generate', callback_payload: '{}', callback_job_id: later.id, created: started - 7200e3, finished: started - 6000e3 })
  const b3 = ulid('batch', started - 60e3)
  batches.set(b3, { id: b3, total: 5000, pending: 1890, succeeded: 3101, failed: 9, callback_queue: null, callback_payload: '{}', callback_job_id: null, created: started - 60e3, finished: null })
  addSchedule({ name: 'daily-report', queue: 'reports.generate', cron: '0 9 * * *', timezone: 'America/New_York', payload: '{"type":"daily"}', unique_key: 'daily-report' })
  addSchedule({ name: 'sync-users', queue: 'sync.users', cron: '*/15 * * * *', timezone: 'UTC', payload: '{}' })
  addSchedule({ name: 'invoice-run', queue: 'payments.capture', cron: '30 2 1 * *', timezone: 'Europe/Berlin', payload: '{"run":"monthly"}', paused: true })
  for (let i = 900; i > 0; i--) {
    const p = blank(Math.floor(Date.now() / 1000) - i)
    const wave = 1 + 0.45 * Math.sin(i / 70) + 0.2 * Math.sin(i / 11)
    p.enqueued = Math.round(7 * wave + random() * 3); p.completed = Math.round(6.6 * wave + random() * 3)
    p.started = p.completed; p.failed = random() < 0.12 ? 1 : 0; p.dead = random() < 0.01 ? 1 : 0
    p.wait = Array.from({ length: 4 }, () => 40 + random() * 400 * wave); p.run = Array.from({ length: 4 }, () => 200 + random() * 1500)
    series.push(p)
  }
}

function fakeFail(job, attempt, at) {
  const error = pick(ERRORS[job.queue] ?? ['Unexpected end of file'])
  job.attempt = attempt
  job.errors.push({ attempt, error, backtrace: 'at send (mail/smtp.js:42:11)\nat deliver (mail/deliver.js:118:5)\nat run (worker.js:77:3)', at, worker_id: pick([...workers.keys()]) })
  job.error_count++
  job.timeline.push({ at, event: 'failed', attempt, worker_id: job.errors.at(-1).worker_id, detail: error })
  queue(job.queue).totals.failed++
}
function start(job) {
  const w = pick([...workers.values()])
  job.state = 'active'; job.attempt++; job.started = Date.now(); job.worker = w.id; job.lease = Date.now() + 60e3
  job.until = Date.now() + 400 + random() * 4000
  job.timeline.push({ at: job.started, event: 'started', attempt: job.attempt, worker_id: w.id })
  queue(job.queue).totals.started++
  emit('started', job, { worker_id: w.id, wait_ms: Math.max(0, job.started - job.created) % 5000 })
}
function settle(job) {
  const run_ms = Date.now() - job.started
  if (random() < 0.06 && ERRORS[job.queue]) {
    fakeFail(job, job.attempt, Date.now())
    emit('failed', job, { error: job.errors.at(-1).error, run_ms })
    if (job.attempt >= job.max_retries) {
      job.state = 'dead'; job.ended = Date.now(); queue(job.queue).totals.dead++; emit('dead', job, { reason: 'attempts_used_up' })
    } else { job.state = 'retrying'; job.due = Date.now() + 5000 * 2 ** (job.attempt - 1); emit('retrying', job) }
  } else {
    job.state = 'completed'; job.ended = Date.now(); job.result = '{"ok":true}'
    job.timeline.push({ at: job.ended, event: 'completed', attempt: job.attempt, worker_id: job.worker })
    queue(job.queue).totals.completed++
    emit('completed', job, { run_ms })
  }
}

function tick() {
  const now = Date.now()
  const second = Math.floor(now / 1000)
  if (!series.length || series.at(-1).t < second) series.push(blank(second))
  if (series.length > 3600) series.shift()
  for (const w of workers.values()) w.seen = now - Math.floor(random() * 4000)
  for (const q of queues.values()) {
    q.recent = q.recent.filter(([at]) => at > now - 60e3)
    if (random() < q.speed / 4) {
      const job = makeJob(q.name, payloadOf(q.name), { tags: { tenant: pick(TENANTS) }, max_retries: 5 })
      emit('enqueued', job)
    }
  }
  const active = new Map()
  for (const job of jobs.values()) {
    if (job.state === 'active') active.set(job.queue, (active.get(job.queue) ?? 0) + 1)
    if (job.state === 'active' && job.hold) {
      const p = JSON.parse(job.progress)
      p.current = p.current >= 1000 ? 0 : p.current + 5
      job.progress = JSON.stringify(p)
      if (p.current % 50 === 0) emit('progress', job, { progress: p })
      if (p.current % 100 === 0) {
        const list = logs.get(job.id)
        list.push({ number: list.length + 1, at: iso(now), level: 'info', message: `Sent ${p.current} of 1000` })
        emit('logged', job)
      }
    } else if (job.state === 'active' && job.until < now) settle(job)
    else if ((job.state === 'retrying' || job.state === 'scheduled') && job.due < now) job.state = 'pending'
  }
  for (const job of jobs.values()) {
    if (job.state !== 'pending') continue
    const q = queue(job.queue)
    if (q.paused || (active.get(job.queue) ?? 0) >= 6 || random() > 0.25) continue
    active.set(job.queue, (active.get(job.queue) ?? 0) + 1)
    start(job)
  }
  for (const b of bulks.values()) {
    if (b.status !== 'processing') continue
    const step = Math.min(b.total - b.processed, 1483)
    b.processed += step
    b.affected = b.processed - Math.min(b.processed, 2)
    b.errors = Math.min(b.processed, 2)
    if (b.processed >= b.total) { b.status = 'completed'; b.finished = now; }
  }
}

const counts = (name) => {
  const c = { pending: 0, scheduled: 0, waiting: 0, retrying: 0, active: 0, completed: queue(name).completed_base, dead: 0, cancelled: 0 }
  let oldest = null
  for (const j of jobs.values())
    if (j.queue === name) {
      c[j.state]++
      if (j.state === 'pending') oldest = Math.min(oldest ?? j.created, j.created)
    }
  return { ...c, oldest_pending_age_ms: oldest == null ? null : Date.now() - oldest }
}
const queueRow = (q) => {
  const rate = (type) => Math.round((q.recent.filter(([, t]) => t === type).length / 60) * 1000) / 1000
  const { completed_base, recent, speed, created_at, ...rest } = q
  return { ...rest, ...counts(q.name), rates: { enqueued: rate('enqueued'), completed: rate('completed'), failed: rate('failed') }, created_at: iso(created_at) }
}

// Payloads and their like are texts of JSON here, and go out as they are.
class Raw { constructor(text) { this.text = text } }
const raw = (text) => (text == null ? null : new Raw(text))
function write(value) {
  if (value instanceof Raw) return value.text
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  if (value && typeof value === 'object') return `{${Object.entries(value).filter(([, v]) => v !== undefined).map(([k, v]) => `${JSON.stringify(k)}:${write(v)}`).join(',')}}`
  return JSON.stringify(value)
}

const jobRow = (j) => ({
  id: j.id, queue: j.queue, payload: raw(j.payload), state: j.state, priority: j.priority, attempt: j.attempt, max_retries: j.max_retries,
  retry_backoff: j.retry_backoff, tags: j.tags, group: j.group, unique_key: j.unique_key, batch_id: j.batch_id, schedule_id: j.schedule_id,
  depends_on: j.depends_on, created_at: iso(j.created), scheduled_at: j.state === 'scheduled' ? iso(j.due) : null,
  next_attempt_at: j.state === 'retrying' ? iso(j.due) : null, started_at: iso(j.started), ended_at: iso(j.ended),
  completed_at: j.state === 'completed' ? iso(j.ended) : null, failed_at: j.errors.length ? iso(j.errors.at(-1).at) : null,
  lease_expires_at: j.state === 'active' ? iso(j.lease) : null, expire_at: null, cancel_requested: !!j.cancelling, end_reason: j.end_reason ?? null,
  progress: raw(j.progress), checkpoint: raw(j.checkpoint), result: raw(j.result), worker_id: j.worker,
  last_error: j.errors.at(-1)?.error ?? null, error_count: j.error_count,
})
const jobFull = (j) => ({
  ...jobRow(j), errors: j.errors.map((e) => ({ ...e, at: iso(e.at) })), worker: j.worker ? { id: j.worker, hostname: workers.get(j.worker)?.hostname ?? null } : null,
  attempts: [...j.errors.map((e) => ({ attempt: e.attempt, started_at: iso(e.at - 4200), ended_at: iso(e.at), duration_ms: 4200, outcome: 'failed', error: e.error, worker_id: e.worker_id })),
    ...(j.state === 'active' ? [{ attempt: j.attempt, started_at: iso(j.started), ended_at: null, duration_ms: null, outcome: 'running', error: null, worker_id: j.worker }] : []),
    ...(j.state === 'completed' ? [{ attempt: j.attempt, started_at: iso(j.started), ended_at: iso(j.ended), duration_ms: j.ended - j.started, outcome: 'completed', error: null, worker_id: j.worker }] : [])],
  timeline: j.timeline.map((t) => ({ ...t, at: iso(t.at) })), timeline_is_partial: false, waiting_on: [],
})

const problem = (status, code, detail, field) => ({ status, problem: { type: 'about:blank', title: code, status, code, detail, field } })
const known = new Set(['queue', 'state', 'priority', 'tags', 'payload_contains', 'payload_jq', 'created_after', 'created_before', 'worker_id', 'has_errors', 'error_contains', 'error_group', 'batch_id', 'group', 'schedule_id', 'unique_key', 'expire_before', 'expire_after', 'scheduled_before', 'scheduled_after', 'started_after', 'started_before', 'completed_after', 'completed_before', 'failed_after', 'failed_before', 'attempt_min', 'attempt_max', 'job_id_prefix', 'ids', 'sort', 'order', 'cursor', 'limit'])
function find(filter) {
  for (const key of Object.keys(filter)) if (!known.has(key)) throw problem(422, 'unknown_field', `There is no field "${key}" here.`, key)
  const states = filter.state == null ? null : [].concat(filter.state)
  let jq = null
  if (filter.payload_jq) {
    const m = /^\s*\.([\w.]+)\s*(==|!=|>|<)\s*(.+?)\s*$/.exec(filter.payload_jq)
    if (!m) throw problem(422, 'bad_jq', 'payload_jq: expected a path such as .template', 'payload_jq')
    jq = m
  }
  const out = []
  for (const j of jobs.values()) {
    if (filter.queue && !new RegExp(`^${filter.queue.replace(/[.]/g, '\\.').replace(/\*/g, '.*')}$`).test(j.queue)) continue
    if (states && !states.includes(j.state)) continue
    if (filter.priority != null && j.priority !== filter.priority) continue
    if (filter.tags && !Object.entries(filter.tags).every(([k, v]) => j.tags[k] === v)) continue
    if (filter.payload_contains && !j.payload.includes(filter.payload_contains)) continue
    if (filter.error_contains && !j.errors.some((e) => e.error.includes(filter.error_contains))) continue
    if (filter.error_group && !(['dead', 'retrying'].includes(j.state) && j.errors.length && fingerprint(j) === filter.error_group)) continue
    if (filter.has_errors != null && filter.has_errors !== j.errors.length > 0) continue
    if (filter.worker_id && j.worker !== filter.worker_id) continue
    if (filter.batch_id && j.batch_id !== filter.batch_id) continue
    if (filter.ids && !filter.ids.includes(j.id)) continue
    if (filter.group && j.group !== filter.group) continue
    if (filter.job_id_prefix && !j.id.startsWith(filter.job_id_prefix)) continue
    if (filter.unique_key && j.unique_key !== filter.unique_key) continue
    if (filter.created_after && j.created <= Date.parse(filter.created_after)) continue
    if (filter.created_before && j.created >= Date.parse(filter.created_before)) continue
    if (filter.attempt_min != null && j.attempt < filter.attempt_min) continue
    if (filter.attempt_max != null && j.attempt > filter.attempt_max) continue
    if (jq) {
      const value = jq[1].split('.').reduce((v, k) => v?.[k], JSON.parse(j.payload))
      const want = JSON.parse(jq[3])
      if (!(jq[2] === '==' ? value === want : jq[2] === '!=' ? value !== want : jq[2] === '>' ? value > want : value < want)) continue
    }
    out.push(j)
  }
  return out
}
const sortKey = { created_at: (j) => j.created, started_at: (j) => j.started ?? 0, ended_at: (j) => j.ended ?? 0, completed_at: (j) => j.ended ?? 0, failed_at: (j) => j.errors.at(-1)?.at ?? 0, scheduled_at: (j) => j.due ?? 0, attempt: (j) => j.attempt, priority: (j) => ({ critical: 0, high: 1, normal: 2 })[j.priority] ?? 2, expire_at: () => 0 }
function search(body) {
  const begun = performance.now()
  const { sort = 'created_at', order = 'desc', cursor, limit = 50, ...filter } = body
  const found = find(filter).sort((a, b) => (sortKey[sort](a) - sortKey[sort](b) || (a.id < b.id ? -1 : 1)) * (order === 'desc' ? -1 : 1))
  const from = cursor ? Number(atob(cursor)) : 0
  const more = from + limit < found.length
  return { jobs: found.slice(from, from + limit).map(jobRow), total: Math.min(found.length, 10000), total_is_at_least: found.length > 10000, cursor: more ? btoa(String(from + limit)) : null, has_more: more, duration_ms: Math.round((performance.now() - begun) * 1000) / 1000 }
}
const ALLOWED = { retry: ['dead', 'cancelled', 'completed'], delete: null, cancel: ['pending', 'active', 'scheduled', 'retrying', 'waiting'], move: ['pending', 'dead', 'scheduled', 'completed'], requeue: ['dead'], change_priority: ['pending', 'scheduled'] }
function act(job, action, body) {
  if (ALLOWED[action] && !ALLOWED[action].includes(job.state)) return false
  if (action === 'delete') { jobs.delete(job.id); emit('deleted', job) }
  else if (action === 'cancel') {
    if (job.state === 'active') { job.cancelling = true; job.hold = false; emit('cancel_requested', job) }
    else { job.state = 'cancelled'; job.ended = Date.now(); emit('cancelled', job) }
  } else if (action === 'retry' || action === 'requeue') {
    if (action === 'retry') job.attempt = 0
    else job.max_retries++
    if (body?.payload !== undefined) job.payload = JSON.stringify(body.payload)
    job.state = 'pending'; job.ended = null; job.timeline.push({ at: Date.now(), event: 'retried' }); emit('retried', job)
  } else if (action === 'move') { job.queue = body.move_to_queue ?? body.queue; queue(job.queue); if (ENDED.includes(job.state)) job.state = 'pending'; emit('moved', job) }
  else if (action === 'change_priority') { job.priority = body.priority; emit('priority_changed', job) }
  return true
}
const bulkRow = (b) => ({ bulk_operation_id: b.id, status: b.status, action: b.action, move_to_queue: b.move_to_queue, priority: b.priority, filter: raw(JSON.stringify(b.filter)), estimated_total: b.total, processed: b.processed, affected: b.affected, skipped: 0, errors: b.errors, first_errors: b.errors ? [{ job_id: ulid('job'), code: 'unique_conflict', detail: 'Another live job holds the unique key.' }, { job_id: ulid('job'), code: 'unique_conflict', detail: 'Another live job holds the unique key.' }] : [], created_at: iso(b.created), finished_at: iso(b.finished), reason: null })
function bulk(body) {
  const list = body.job_ids ? body.job_ids.map((id) => jobs.get(id)).filter(Boolean) : find(body.filter)
  if (body.filter?.payload_contains === 'everything-large') {
    if (body.dry_run) return { affected: 142000, skipped: 0, errors: 0, dry_run: true, duration_ms: 12.5 }
    const b = { id: ulid('bulk'), action: body.action, move_to_queue: body.move_to_queue, priority: body.priority, filter: body.filter, total: 142000, processed: 0, affected: 0, errors: 0, status: 'processing', created: Date.now(), finished: null }
    bulks.set(b.id, b)
    return { status_: 202, bulk_operation_id: b.id, status: 'processing', estimated_total: b.total, progress_url: `/api/v1/bulk/${b.id}/progress` }
  }
  const fits = list.filter((j) => !ALLOWED[body.action] || ALLOWED[body.action].includes(j.state))
  if (!body.dry_run) for (const j of fits) act(j, body.action, body)
  return { affected: fits.length, skipped: list.length - fits.length, errors: 0, dry_run: !!body.dry_run, duration_ms: 3.2 }
}

const cronNext = (cron, n, from = Date.now()) => {
  const fields = (cron === '@daily' ? '0 0 * * *' : cron === '@hourly' ? '0 * * * *' : cron).trim().split(/\s+/)
  if (fields.length < 5 || fields.length > 6 || fields.some((f) => !/^[\d*/,\-A-Za-z@]+$/.test(f))) throw problem(422, 'invalid', 'cron must have 5 fields (or 6 with seconds).', 'cron')
  const [mi, h, dom, mo, dow] = fields.slice(-5)
  const fits = (f, v) => f === '*' || f.split(',').some((p) => { const [r, s] = p.split('/'); if (s) return v % Number(s) === 0; const [a, b] = r.split('-'); return b ? v >= +a && v <= +b : +a === v })
  const runs = []
  for (let t = Math.ceil((from + 1) / 60e3) * 60e3; runs.length < n && t < from + 366 * 86400e3 * 2; t += 60e3) {
    const d = new Date(t)
    if (fits(mi, d.getUTCMinutes()) && fits(h, d.getUTCHours()) && fits(dom, d.getUTCDate()) && fits(mo, d.getUTCMonth() + 1) && fits(dow, d.getUTCDay())) runs.push(t)
    else if (!fits(h, d.getUTCHours())) t += (59 - d.getUTCMinutes()) * 60e3
  }
  return runs
}
const local = (t, zone) => {
  const p = Object.fromEntries(new Intl.DateTimeFormat('en-CA', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'longOffset' }).formatToParts(t).map((x) => [x.type, x.value]))
  return `${p.year}-${p.month}-${p.day}T${p.hour}:${p.minute}:${p.second}${p.timeZoneName.replace('GMT', '') || '+00:00'}`
}
function addSchedule(s) {
  const id = s.id ?? ulid('sched')
  schedules.set(id, { catch_up: 'one', paused: false, max_retries: 3, priority: 'normal', runs: Math.floor(random() * 400), last: Date.now() - 600e3, ...s, id })
  return schedules.get(id)
}
const scheduleRow = (s) => {
  const next = cronNext(s.cron, 5)
  return { id: s.id, name: s.name, cron: s.cron, timezone: s.timezone, catch_up: s.catch_up, paused: s.paused, queue: s.queue, payload: raw(s.payload), unique_key: s.unique_key ?? null, priority: s.priority, max_retries: s.max_retries, last_run: iso(s.last), next_run: s.paused ? null : iso(next[0]), last_job_id: [...jobs.keys()][5], runs: s.runs, next_runs: next.map(iso) }
}
const runsOf = (cron, zone, n) => ({ cron, timezone: zone, runs: cronNext(cron, n).map((t, i) => ({ at: iso(t), local: local(t, zone), zone_change: i === 6 ? 'skipped' : null })) })

function stats(q) {
  const minute = q.get('resolution') === 'minute'
  const step = minute ? 60 : 1
  const now = Math.floor(Date.now() / 1000)
  const from = q.get('since') ? Math.floor(Date.parse(q.get('since')) / 1000) : now - (minute ? 3600 : 300)
  const share = q.get('queue') ? 0.3 : 1
  const slots = new Map()
  for (const p of series) {
    const slot = Math.floor(p.t / step)
    const s = slots.get(slot) ?? blank(slot)
    for (const k of ['enqueued', 'started', 'completed', 'failed', 'dead', 'cancelled']) s[k] += Math.round(p[k] * share)
    s.wait.push(...p.wait); s.run.push(...p.run)
    slots.set(slot, s)
  }
  const out = { queue: q.get('queue'), resolution: minute ? 'minute' : 'second', step_ms: step * 1000, since: iso(Math.floor(from / step) * step * 1000), until: iso(Math.floor(now / step) * step * 1000), shared: false }
  const cols = ['enqueued', 'started', 'completed', 'failed', 'dead', 'cancelled']
  for (const c of cols) out[c] = []
  const quantiles = (list) => { const l = [...list].sort((a, b) => a - b); const at = (p) => (l.length ? Math.round(l[Math.min(l.length - 1, Math.floor(p * l.length))]) : null); return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) } }
  out.wait_ms = { p50: [], p95: [], p99: [], max: [] }; out.run_ms = { p50: [], p95: [], p99: [], max: [] }
  for (let s = Math.floor(from / step); s <= Math.floor(now / step); s++) {
    const p = slots.get(s)
    for (const c of cols) out[c].push(p?.[c] ?? 0)
    for (const k of ['wait', 'run']) for (const [n, v] of Object.entries(quantiles(p?.[k] ?? []))) out[`${k}_ms`][n].push(v)
  }
  out.points = out.enqueued.length
  return out
}
const pattern = (error) => error.replace(/\d+/g, '#')
const fingerprint = (j) => [...(j.queue + pattern(j.errors.at(-1).error))].reduce((h, c) => (h * 33n + BigInt(c.charCodeAt(0))) & 0xffffffffffffffffn, 5381n).toString(16).padStart(16, '0')
function errorGroups(q) {
  const groups = new Map()
  for (const j of jobs.values()) {
    if (!(j.state === 'dead' || j.state === 'retrying') || !j.errors.length || (q && j.queue !== q)) continue
    const error = j.errors.at(-1).error
    const key = fingerprint(j)
    const g = groups.get(key) ?? { fingerprint: key, queue: j.queue, pattern: pattern(error), error, count: 0, dead: 0, retrying: 0, first: Infinity, last: 0, job_ids: [] }
    g.count++; g[j.state]++; g.first = Math.min(g.first, j.errors[0].at); g.last = Math.max(g.last, j.errors.at(-1).at)
    if (g.job_ids.length < 5) g.job_ids.push(j.id)
    groups.set(key, g)
  }
  return [...groups.values()].sort((a, b) => b.count - a.count).map(({ first, last, ...g }) => ({ ...g, first_seen: iso(first), last_seen: iso(last) }))
}

const routes = []
const on = (method, pattern, run) => routes.push({ method, parts: pattern.split('/').slice(1), run })
const jobOf = (id) => { const j = jobs.get(id); if (!j) throw problem(404, 'not_found', `There is no job ${id}.`); return j }
const A = '/api/v1'
on('GET', `${A}/whoami`, () => (process.env.MOCK_READONLY ? { auth: true, name: 'viewer', scopes: ['produce'] } : { auth: false, scopes: ['produce', 'work', 'manage', 'admin'] }))
on('GET', `${A}/queues`, () => ({ queues: [...queues.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).map(queueRow), cursor: null, has_more: false }))
on('GET', `${A}/queues/:q`, ({ q }) => { if (!queues.has(q)) throw problem(404, 'not_found', `There is no queue ${q}.`); return queueRow(queue(q)) })
for (const [verb, change] of [['pause', (q) => (q.paused = true)], ['resume', (q) => ((q.paused = false), (q.draining = false))], ['drain', (q) => ((q.paused = true), (q.draining = true))]])
  on('POST', `${A}/queues/:q/${verb}`, ({ q }) => { change(queue(q)); emit(`queue_${verb === 'drain' ? 'draining' : verb === 'pause' ? 'paused' : 'resumed'}`, null, { queue: q }); return { queue: q, status: verb } })
on('POST', `${A}/queues/:q/clear`, ({ q }) => { let n = 0; for (const j of [...jobs.values()]) if (j.queue === q && ['pending', 'scheduled', 'waiting', 'retrying'].includes(j.state)) { jobs.delete(j.id); n++ } emit('queue_cleared', null, { queue: q }); return { queue: q, status: 'cleared', affected: n } })
on('DELETE', `${A}/queues/:q`, ({ q }) => { queues.delete(q); for (const j of [...jobs.values()]) if (j.queue === q) jobs.delete(j.id); return { queue: q, status: 'deleted' } })
on('POST', `${A}/queues/:q/concurrency`, ({ q }, b) => { queue(q).limits.concurrency = b.max == null ? null : { max: b.max }; return { queue: q, concurrency: queue(q).limits.concurrency } })
on('POST', `${A}/queues/:q/throttle`, ({ q }, b) => { queue(q).limits.throttle = { rate: b.rate, period: b.period }; return { queue: q, throttle: queue(q).limits.throttle } })
on('DELETE', `${A}/queues/:q/throttle`, ({ q }) => { queue(q).limits.throttle = null; return { queue: q, throttle: null } })
on('DELETE', `${A}/queues/:q/concurrency`, ({ q }) => { queue(q).limits.concurrency = null; return { queue: q, concurrency: null } })
on('POST', `${A}/queues/:q/retention`, ({ q }, b) => ({ queue: q, retention: Object.assign(queue(q).retention, b) }))
on('POST', `${A}/queues/:q/lease`, ({ q }, b) => { queue(q).lease.duration = b.duration ?? 60; return { queue: q, lease: queue(q).lease } })
on('POST', `${A}/queues/:q/fairness`, ({ q }, b) => { queue(q).fairness = b.fairness; return { queue: q, fairness: b.fairness } })
const enqueue = (b) => {
  if (!b.queue) throw problem(422, 'missing', 'queue is missing.', 'queue')
  const j = makeJob(b.queue, b.payload ?? {}, { priority: b.priority ?? 'normal', max_retries: b.max_retries ?? 3, tags: b.tags ?? {}, unique_key: b.unique_key ?? null, group: b.group ?? null, payload: undefined })
  j.payload = b.rawPayload ?? JSON.stringify(b.payload ?? {})
  if (b.delay || b.scheduled_at) { j.state = 'scheduled'; j.due = b.scheduled_at ? Date.parse(b.scheduled_at) : Date.now() + 60e3 }
  emit('enqueued', j)
  return { status_: 201, job_id: j.id, status: j.state, unique_existing: false }
}
on('POST', `${A}/enqueue`, (_, b) => enqueue(b))
on('POST', `${A}/enqueue/batch`, (_, b) => ({ status_: 201, job_ids: b.jobs.map((x) => enqueue(x).job_id), batch_id: null }))
on('POST', `${A}/jobs/search`, (_, b) => search(b))
on('POST', `${A}/jobs/bulk`, (_, b) => bulk(b))
on('GET', `${A}/bulk`, () => ({ bulk_operations: [...bulks.values()].reverse().map(bulkRow) }))
on('GET', `${A}/bulk/:id/progress`, ({ id }) => { if (!bulks.has(id)) throw problem(404, 'not_found', 'There is no such bulk operation.'); return bulkRow(bulks.get(id)) })
on('GET', `${A}/bulk/:id`, ({ id }) => { if (!bulks.has(id)) throw problem(404, 'not_found', 'There is no such bulk operation.'); return bulkRow(bulks.get(id)) })
on('DELETE', `${A}/bulk/:id`, ({ id }) => { const b = bulks.get(id); b.status = 'cancelled'; b.finished = Date.now(); return bulkRow(b) })
on('GET', `${A}/jobs/:id`, ({ id }) => jobFull(jobOf(id)))
on('GET', `${A}/jobs/:id/why`, ({ id }) => {
  const j = jobOf(id)
  const reasons = []
  if (j.state === 'pending' && queue(j.queue).paused) reasons.push({ code: 'paused', detail: 'the queue is paused' })
  if (j.state === 'retrying') reasons.push({ code: 'backoff', detail: 'it waits before its next attempt', until: iso(j.due) })
  if (j.state === 'scheduled') reasons.push({ code: 'scheduled', detail: 'it is planned for later', until: iso(j.due) })
  if (j.state === 'pending') reasons.push({ code: 'behind', detail: '3 jobs of the queue come first', ahead: 3 })
  return { job_id: id, state: j.state, reasons }
})
on('GET', `${A}/jobs/:id/logs`, ({ id }, _, q) => { jobOf(id); const l = (logs.get(id) ?? []).filter((x) => x.number > Number(q.get('offset') ?? 0)); return { job_id: id, state: jobOf(id).state, lines: l, next_offset: l.at(-1)?.number ?? Number(q.get('offset') ?? 0), has_more: false, total: (logs.get(id) ?? []).length, dropped: 0 } })
for (const verb of ['cancel', 'retry', 'requeue', 'move', 'priority'])
  on('POST', `${A}/jobs/:id/${verb}`, ({ id }, b) => { const j = jobOf(id); if (!act(j, verb === 'priority' ? 'change_priority' : verb, b)) throw problem(409, 'wrong_state', `The job is ${j.state}.`); return { job_id: id, status: j.state, queue: j.queue } })
on('DELETE', `${A}/jobs/:id`, ({ id }) => { act(jobOf(id), 'delete'); return { job_id: id, status: 'deleted' } })
on('GET', `${A}/stats`, (_, __, q) => stats(q))
on('GET', `${A}/errors`, (_, __, q) => { const groups = errorGroups(q.get('queue')); return { groups, total: groups.length, examined: jobs.size, complete: true } })
on('GET', `${A}/workers`, () => ({ workers: [...workers.values()].map(({ started, seen, ...w }) => ({ ...w, active: [...jobs.values()].filter((j) => j.state === 'active' && j.worker === w.id).length, started_at: iso(started), last_heartbeat: iso(seen), silent: false })), cursor: null, has_more: false }))
const batchRow = (b) => ({ id: b.id, status: b.pending ? 'pending' : 'finished', total: b.total, pending: b.pending, succeeded: b.succeeded, failed: b.failed, callback_queue: b.callback_queue, callback_payload: raw(b.callback_payload), callback_job_id: b.callback_job_id, created_at: iso(b.created), finished_at: iso(b.finished) })
on('GET', `${A}/batches`, () => ({ batches: [...batches.values()].sort((a, b) => b.created - a.created).map(batchRow), cursor: null, has_more: false }))
on('GET', `${A}/batches/:id`, ({ id }) => { if (!batches.has(id)) throw problem(404, 'not_found', 'There is no such batch.'); return batchRow(batches.get(id)) })
on('GET', `${A}/groups`, () => { const g = new Map(); for (const j of jobs.values()) if (j.group && !ENDED.includes(j.state)) { const r = g.get(j.group) ?? { name: j.group, paused: groupsPaused.has(j.group), pending: 0, scheduled: 0, waiting: 0, retrying: 0, active: 0 }; r[j.state]++; g.set(j.group, r) } return { groups: [...g.values()], cursor: null, has_more: false } })
for (const verb of ['pause', 'resume', 'retry-failed', 'cancel']) on('POST', `${A}/groups/:g/${verb}`, ({ g }) => { if (verb === 'pause') groupsPaused.add(g); if (verb === 'resume') groupsPaused.delete(g); return { group: g, status: verb, affected: 0 } })
on('GET', `${A}/schedules`, () => ({ schedules: [...schedules.values()].map(scheduleRow), cursor: null, has_more: false }))
on('POST', `${A}/schedules/preview`, (_, b) => runsOf(b.cron, b.timezone ?? 'UTC', b.count ?? 10))
on('POST', `${A}/schedules`, (_, b) => { if ([...schedules.values()].some((s) => s.name === b.name)) throw problem(409, 'name_taken', `There is a schedule called ${b.name}.`, 'name'); cronNext(b.cron ?? '', 1); return { status_: 201, ...scheduleRow(addSchedule({ ...b, payload: JSON.stringify(b.payload ?? {}), last: null, runs: 0 })) } })
on('GET', `${A}/schedules/:id`, ({ id }) => scheduleRow(schedules.get(id)))
on('GET', `${A}/schedules/:id/preview`, ({ id }, _, q) => runsOf(schedules.get(id).cron, schedules.get(id).timezone, Number(q.get('count') ?? 10)))
for (const method of ['PUT', 'PATCH']) on(method, `${A}/schedules/:id`, ({ id }, b) => scheduleRow(addSchedule({ ...schedules.get(id), ...b, payload: JSON.stringify(b.payload ?? {}) })))
on('DELETE', `${A}/schedules/:id`, ({ id }) => { schedules.delete(id); return { schedule_id: id, status: 'deleted' } })
on('POST', `${A}/schedules/:id/run`, ({ id }) => { const s = schedules.get(id); const j = makeJob(s.queue, {}, { schedule_id: id }); emit('enqueued', j); return { schedule_id: id, status: 'enqueued', job_id: j.id } })
for (const verb of ['pause', 'resume']) on('POST', `${A}/schedules/:id/${verb}`, ({ id }) => { schedules.get(id).paused = verb === 'pause'; return scheduleRow(schedules.get(id)) })
admin(on, { A, iso, ulid, problem, started, figures: () => ({ index: 48210 + eventId, live: [...jobs.values()].filter((j) => !ENDED.includes(j.state)).length }) })

function events(req, res, q) {
  const types = q.get('types') ? new Set(q.get('types').split(',')) : null
  const wants = (e) => (!types || types.has(e.type)) && (!q.get('queue') || e.data.queue === q.get('queue')) && (!q.get('job_id') || e.data.job_id === q.get('job_id'))
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  res.write('retry: 2000\n: stream\n\n')
  const watcher = { send: (e) => wants(e) && res.write(`id: ${e.id}\nevent: ${e.type}\ndata: ${JSON.stringify(e.data)}\n\n`) }
  const last = Number(req.headers['last-event-id'] ?? q.get('last_event_id') ?? NaN)
  if (!Number.isNaN(last)) for (const e of history) if (e.id > last) watcher.send(e)
  watchers.add(watcher)
  const beat = setInterval(() => res.write(': still here\n\n'), 10e3)
  res.on('close', () => { watchers.delete(watcher); clearInterval(beat) })
}

const dist = join(fileURLToPath(new URL('.', import.meta.url)), '../dist')
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
function page(path, res) {
  let file = join(dist, path.slice(3))
  if (!existsSync(file) || statSync(file).isDirectory()) file = join(dist, 'index.html')
  res.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream', 'content-security-policy': CSP, 'x-content-type-options': 'nosniff' })
  res.end(readFileSync(file))
}

createServer(async (req, res) => {
  const url = new URL(req.url, 'http://mock')
  if (url.pathname === '/') return res.writeHead(302, { location: '/ui/' }).end()
  if (url.pathname === '/healthz') return res.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"ok"}')
  if (url.pathname.startsWith('/ui')) return page(url.pathname, res)
  if (url.pathname === `${A}/events`) return events(req, res, url.searchParams)
  let text = ''
  for await (const part of req) text += part
  const send = (status, type, body) => { res.writeHead(status, { 'content-type': type }); res.end(body) }
  try {
    const parts = url.pathname.split('/').slice(1).map(decodeURIComponent)
    for (const route of routes) {
      if (route.method !== req.method || route.parts.length !== parts.length) continue
      if (!route.parts.every((p, i) => p[0] === ':' || p === parts[i])) continue
      const params = Object.fromEntries(route.parts.flatMap((p, i) => (p[0] === ':' ? [[p.slice(1), parts[i]]] : [])))
      const body = text ? JSON.parse(text) : {}
      if (url.pathname === `${A}/enqueue` && text) {
        const m = /"payload"\s*:\s*([\s\S]*)\}\s*$/.exec(text)
        if (m && Object.keys(body).at(-1) === 'payload') body.rawPayload = m[1].trim()
      }
      const { status_ = 200, ...answer } = route.run(params, body, url.searchParams)
      return send(status_, 'application/json', write(answer))
    }
    throw problem(404, 'no_such_endpoint', `There is nothing at ${url.pathname}.`)
  } catch (error) {
    if (error?.problem) return send(error.status, 'application/problem+json', JSON.stringify(error.problem))
    send(500, 'application/problem+json', JSON.stringify({ status: 500, code: 'internal', detail: String(error?.stack ?? error) }))
  }
}).listen(port, '127.0.0.1', () => process.stdout.write(`mock on http://127.0.0.1:${port}/ui/\n`))

fill()
if (moving) setInterval(tick, 250)
