// Kinds of events, as screens sort them.
export const KINDS: Record<string, string[]> = {
  jobs: ['enqueued', 'started', 'completed', 'failed', 'retrying', 'dead', 'cancelled', 'cancel_requested', 'promoted', 'retried', 'lease_expired', 'moved', 'deleted', 'priority_changed'],
  trouble: ['failed', 'dead', 'lease_expired', 'cancelled'],
  progress: ['progress', 'logged'],
  queues: ['queue_paused', 'queue_resumed', 'queue_draining', 'queue_drained', 'queue_cleared', 'queue_deleted', 'queue_changed', 'group_paused', 'group_resumed', 'batch_completed', 'schedule_fired', 'schedule_changed', 'worker_joined', 'worker_left'],
}
