// The one door to the server. Everything the screens know about shapes and paths is in this file.
import { connection } from './connection.svelte'
import { object, parseAnswer, Raw } from './json'
import { session } from './session.svelte'

export type State =
  | 'scheduled'
  | 'waiting'
  | 'pending'
  | 'active'
  | 'retrying'
  | 'completed'
  | 'dead'
  | 'cancelled'
export const STATES: State[] = [
  'pending',
  'active',
  'scheduled',
  'waiting',
  'retrying',
  'completed',
  'dead',
  'cancelled',
]
export const ENDED: State[] = ['completed', 'dead', 'cancelled']
export type Priority = 'critical' | 'high' | 'normal' | number

export interface Rates {
  enqueued: number
  completed: number
  failed: number
}
export interface Queue extends Record<State, number> {
  name: string
  paused: boolean
  draining: boolean
  oldest_pending_age_ms: number | null
  unique_locks?: number
  rates?: Rates
  limits?: {
    concurrency: { max: number } | null
    throttle: { rate: number; period: string } | null
    concurrency_per?: unknown
    throttle_per?: unknown
  }
  retention?: { completed: string; dead: string; cancelled: string }
  lease?: { duration: number }
  fairness?: 'priority' | 'group'
  totals?: Record<string, number>
}
export interface JobRow {
  id: string
  queue: string
  state: State
  priority: Priority
  payload: Raw
  attempt: number
  max_retries: number
  created_at: string
  started_at: string | null
  ended_at: string | null
  scheduled_at: string | null
  next_attempt_at: string | null
  last_error?: string | null
  errors?: { error: string }[]
  tags: Raw | null
  group: string | null
}
export interface JobError {
  attempt: number
  error: string
  backtrace: string | null
  at: string
  worker_id: string | null
}
export interface Attempt {
  attempt: number
  started_at: string | null
  ended_at: string | null
  duration_ms: number | null
  outcome: string | null
  error: string | null
  worker_id: string | null
}
export interface TimelineEntry {
  at: string
  event: string
  attempt?: number
  worker_id?: string
  detail?: string
}
export interface Job extends Omit<JobRow, 'errors'> {
  retry_backoff: string
  retry_base_delay?: number | string
  unique_key: string | null
  batch_id: string | null
  schedule_id: string | null
  depends_on: string[]
  waiting_on?: string[]
  completed_at: string | null
  failed_at: string | null
  expire_at: string | null
  lease_expires_at: string | null
  lease_duration?: number | null
  cancel_requested: boolean
  end_reason: string | null
  progress: Raw | null
  checkpoint: Raw | null
  result: Raw | null
  errors: JobError[]
  error_count: number
  worker: { id: string; hostname: string | null } | null
  attempts?: Attempt[]
  timeline?: TimelineEntry[]
  timeline_is_partial?: boolean
  traceparent?: string | null
  target_worker?: string | null
  roles?: string[]
}
export interface Found {
  jobs: JobRow[]
  total: number
  total_is_at_least?: boolean
  cursor: string | null
  has_more: boolean
  duration_ms?: number
}
export interface Reason {
  code: string
  detail: string
  until?: string
  jobs?: string[]
  ahead?: number
  ahead_is_at_least?: boolean
}
export interface Quantiles {
  p50: (number | null)[]
  p95: (number | null)[]
  p99: (number | null)[]
}
export interface Stats {
  step_ms: number
  since: string
  until: string
  enqueued: number[]
  started: number[]
  completed: number[]
  failed: number[]
  dead: number[]
  wait_ms: Quantiles
  run_ms: Quantiles
}
export interface ErrorGroup {
  fingerprint: string
  queue: string
  pattern: string
  error: string
  count: number
  dead: number
  retrying: number
  first_seen: string
  last_seen: string
  job_ids: string[]
}
export interface Worker {
  id: string
  hostname: string | null
  name: string | null
  queues: string[]
  roles: string[]
  tags: string[]
  concurrency: number | null
  cores: number | null
  ram_mb: number | null
  load?: number | null
  draining: boolean
  active: number
  started_at: string
  last_heartbeat: string
  silent?: boolean
}
export interface Schedule {
  id: string
  name: string
  cron: string
  timezone: string
  catch_up: 'skip' | 'one' | 'all'
  paused: boolean
  queue: string
  payload: Raw
  priority?: Priority
  max_retries?: number
  unique_key?: string | null
  last_run: string | null
  next_run: string | null
  last_job_id: string | null
  runs: number
  next_runs?: string[]
}
export interface Run {
  at: string
  local: string
  zone_change: 'skipped' | 'repeated' | null
}
export interface Batch {
  id: string
  status: 'pending' | 'finished'
  total: number
  pending: number
  succeeded: number
  failed: number
  callback_queue: string | null
  callback_payload: Raw | null
  callback_job_id: string | null
  created_at: string
  finished_at: string | null
}
export interface Group extends Record<'pending' | 'scheduled' | 'waiting' | 'retrying' | 'active', number> {
  name: string
  paused: boolean
}
export interface BulkOperation {
  bulk_operation_id: string
  status: 'processing' | 'completed' | 'cancelled' | 'failed'
  action: BulkAction
  move_to_queue?: string
  priority?: Priority
  filter: Raw | null
  estimated_total: number
  processed: number
  affected: number
  skipped: number
  errors: number
  first_errors: { job_id: string; code: string; detail: string }[]
  created_at: string
  finished_at: string | null
  reason: string | null
}
export type BulkAction = 'retry' | 'delete' | 'cancel' | 'move' | 'requeue' | 'change_priority'
export interface BulkAnswer {
  affected?: number
  skipped?: number
  errors?: number
  first_errors?: { job_id: string; code: string; detail: string }[]
  bulk_operation_id?: string
  estimated_total?: number
}
/** What a node cannot know of another is null; a server that runs alone leaves most of it out. */
export interface ClusterNode {
  id: number | string
  name?: string
  address?: string | null
  http?: string | null
  role: string
  voter?: boolean
  connected?: boolean
  self?: boolean
  applied_index?: number
  matched_index?: number | null
  lag?: number | null
  round_trip_ms?: number | null
  state?: 'probe' | 'replicate' | 'snapshot' | null
  /** Since when it is connected, or no longer is. */
  since?: string | null
  last_error?: string | null
}
export interface Cluster {
  cluster_id?: string
  node_id: number | string
  node?: string
  role: string
  leader?: string | null
  leader_id: number | string | null
  commit_index?: number
  quorum?: number
  term: number
  applied_index: number
  stored_index: number
  durable_index: number
  state_hash: string
  live_jobs: number
  waiting_fetches: number
  store_lag_rows?: number
  disk_full?: boolean
  memory_full?: boolean
  memory_limit_bytes?: number
  memory_used_bytes?: number
  snapshot_index?: number
  now?: string
  started_at?: string
  nodes: ClusterNode[]
}
export interface Key {
  id: string
  name: string
  scopes: string[]
  queues: string[]
  last_four: string
  created_at: string
  /** Only in the answer that made it. */
  secret?: string
}
export interface Webhook {
  id: string
  url: string
  events: string[]
  queue: string | null
  has_secret: boolean
  active: boolean
  delivered: number
  failed: number
  dropped: number
  created_at: string
}
export interface Delivery {
  id: string
  event: string
  state: 'pending' | 'delivered' | 'failed'
  job_id: string | null
  queue: string | null
  at: string
  attempts: number
  next_attempt_at: string | null
  status: number | null
  error: string | null
  ended_at: string | null
}
export interface LogLine {
  number: number
  at: string
  level: string
  message: string
}
export type Filter = Record<string, unknown>

/** A refusal of the server, or none at all (`status` 0: it could not be reached). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly field: string | null = null,
  ) {
    super(detail)
  }
  /** This server does not have the endpoint (yet). */
  get missing() {
    return this.status === 404 && this.code === 'no_such_endpoint'
  }
  get notFound() {
    return this.status === 404 && !this.missing
  }
}

const RAW = new Set(['payload', 'result', 'checkpoint', 'tags', 'progress', 'callback_payload', 'filter'])
const NO_RAW = new Set<string>()
export const API = '/api/v1'
const PATIENCE_MS = 30_000

function refusal(status: number, text: string): ApiError {
  try {
    const body = JSON.parse(text)
    return new ApiError(status, String(body.code ?? status), String(body.detail ?? body.title ?? text), body.field)
  } catch {
    return new ApiError(status, String(status), text.slice(0, 300) || `The server answered ${status}.`)
  }
}

async function ask<T>(method: string, path: string, body?: string, raw: ReadonlySet<string> = RAW): Promise<T> {
  const headers: Record<string, string> = { accept: 'application/json' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  // A page of another origin cannot set this header without asking first.
  if (method !== 'GET') headers['x-jobbie-ui'] = '1'
  if (session.key) headers.authorization = `Bearer ${session.key}`
  let answer: Response
  let text: string
  try {
    answer = await fetch(API + path, { method, body, headers, cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS) })
    text = await answer.text()
  } catch {
    connection.lost()
    throw new ApiError(0, 'unreachable', 'The server cannot be reached.')
  }
  connection.heard()
  if (answer.status === 401) session.refused()
  if (answer.status === 503 && /"(no_leader|removed)"/.test(text)) connection.leaderless()
  if (!answer.ok) throw refusal(answer.status, text)
  return (text ? parseAnswer(text, raw) : null) as T
}

const get = <T>(path: string, raw?: ReadonlySet<string>) => ask<T>('GET', path, undefined, raw)
const post = <T>(path: string, body: unknown = {}) =>
  ask<T>('POST', path, typeof body === 'string' ? body : JSON.stringify(body))
const at = encodeURIComponent
/** A list that comes in pages: all of it, up to twenty of them. */
async function all<K extends string, T>(name: K, cursor?: string, n = 1): Promise<Record<K, T[]>> {
  const page = await get<Record<K, T[]> & { cursor?: string; has_more?: boolean }>(`/${name}${query({ cursor })}`, NO_RAW)
  if (page.has_more && n < 20) page[name].push(...(await all<K, T>(name, page.cursor, n + 1))[name])
  return page
}

function query(parameters: Record<string, string | number | undefined | null>): string {
  const given = Object.entries(parameters).filter(([, value]) => value != null && value !== '')
  return given.length ? `?${given.map(([k, v]) => `${k}=${at(String(v))}`).join('&')}` : ''
}

export const api = {
  whoami: () => get<{ auth: boolean; scopes: string[]; queues?: string[]; key?: { id: string; name: string } | null }>('/whoami'),
  queues: () => all<'queues', Queue>('queues'),
  queue: (name: string) => get<Queue>(`/queues/${at(name)}`, NO_RAW),
  queueAction: (name: string, action: string, body: unknown = {}) =>
    post<{ affected?: number }>(`/queues/${at(name)}/${action}`, body),
  deleteQueue: (name: string) => ask('DELETE', `/queues/${at(name)}?confirm=true`),
  removeLimit: (name: string, limit: 'throttle') => ask('DELETE', `/queues/${at(name)}/${limit}`),

  search: (filter: Filter) => post<Found>('/jobs/search', filter),
  job: (id: string) => get<Job>(`/jobs/${at(id)}`),
  why: (id: string) => get<{ state: State; reasons: Reason[] }>(`/jobs/${at(id)}/why`, NO_RAW),
  logs: (id: string, offset: number) =>
    get<{ lines: LogLine[]; next_offset: number; has_more: boolean; total: number; dropped: number }>(
      `/jobs/${at(id)}/logs${query({ offset, limit: 500 })}`,
      NO_RAW,
    ),
  jobAction: (id: string, action: string, body: unknown = {}) =>
    post<{ job_id: string; status: string }>(`/jobs/${at(id)}/${action}`, body),
  retryWith: (id: string, payload: string) => post(`/jobs/${at(id)}/retry`, object({ payload })),
  deleteJob: (id: string) => ask('DELETE', `/jobs/${at(id)}`),
  enqueue: (members: Record<string, string | undefined>) =>
    post<{ job_id: string; status: string; unique_existing: boolean }>('/enqueue', object(members)),

  bulk: (body: Record<string, unknown>) => post<BulkAnswer>('/jobs/bulk', body),
  bulks: () => get<{ bulk_operations: BulkOperation[] }>('/bulk'),
  bulkProgress: (id: string) => get<BulkOperation>(`/bulk/${at(id)}/progress`),
  cancelBulk: (id: string) => ask<BulkOperation>('DELETE', `/bulk/${at(id)}`),

  stats: (parameters: { queue?: string; resolution?: 'second' | 'minute'; since?: string }) =>
    get<Stats>(`/stats${query(parameters)}`, NO_RAW),
  errors: (queue?: string) =>
    get<{ groups: ErrorGroup[]; total: number; complete?: boolean }>(`/errors${query({ queue, limit: 200 })}`, NO_RAW),

  workers: () => get<{ workers: Worker[] }>('/workers', NO_RAW),
  cluster: () => get<Cluster>('/cluster/status', NO_RAW),
  transfer: (name: string) => post('/cluster/transfer', { to: name }),
  snapshot: () => post('/cluster/snapshot'),
  removeNode: (name: string) => ask('DELETE', `/cluster/nodes/${at(name)}`),
  batches: (cursor?: string | null, status?: string) =>
    get<{ batches: Batch[]; cursor: string | null; has_more: boolean }>(`/batches${query({ cursor, status, limit: 50 })}`),
  batch: (id: string) => get<Batch>(`/batches/${at(id)}`),
  groups: () => all<'groups', Group>('groups'),
  groupAction: (name: string, action: string) => post<{ affected?: number }>(`/groups/${at(name)}/${action}`),

  schedules: () => get<{ schedules: Schedule[] }>('/schedules'),
  schedule: (id: string) => get<Schedule>(`/schedules/${at(id)}`),
  schedulePreview: (body: { cron: string; timezone: string; count: number }) =>
    post<{ runs: Run[] }>('/schedules/preview', body),
  scheduleAction: (id: string, action: string) => post<{ job_id?: string }>(`/schedules/${at(id)}/${action}`),
  saveSchedule: (id: string | null, members: Record<string, string | undefined>) =>
    ask<Schedule>(id ? 'PATCH' : 'POST', id ? `/schedules/${at(id)}` : '/schedules', object(members)),
  deleteSchedule: (id: string) => ask('DELETE', `/schedules/${at(id)}`),

  keys: () => get<{ keys: Key[] }>('/keys', NO_RAW),
  createKey: (body: { name: string; scopes: string[]; queues?: string[] }) => post<Key>('/keys', body),
  revokeKey: (id: string) => ask('DELETE', `/keys/${at(id)}`),
  webhooks: () => get<{ webhooks: Webhook[] }>('/webhooks', NO_RAW),
  webhook: (id: string) => get<Webhook>(`/webhooks/${at(id)}`, NO_RAW),
  saveWebhook: (id: string | null, body: Record<string, unknown>) =>
    ask<Webhook>(id ? 'PUT' : 'POST', id ? `/webhooks/${at(id)}` : '/webhooks', JSON.stringify(body)),
  deleteWebhook: (id: string) => ask('DELETE', `/webhooks/${at(id)}`),
  testWebhook: (id: string) => post<Delivery>(`/webhooks/${at(id)}/test`),
  deliveries: (id: string, state: string, cursor: string) =>
    get<{ deliveries: Delivery[]; cursor: string | null; has_more: boolean }>(`/webhooks/${at(id)}/deliveries${query({ state, cursor, limit: 50 })}`, NO_RAW),
  retryDelivery: (id: string, delivery: string) => post(`/webhooks/${at(id)}/deliveries/${at(delivery)}/retry`),
  audit: () => get<{ actions: { number: number; at: string; by: string; address: string | null; action: string; target: string | null; outcome: string }[] }>('/audit', NO_RAW),
}
