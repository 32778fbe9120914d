// What a key may be allowed to do.
export const SCOPES: [name: string, means: string][] = [
  ['produce', 'enqueue jobs'],
  ['work', 'fetch, ack, fail, heartbeat'],
  ['manage', 'retry, cancel, move, delete, pause, settings, schedules'],
  ['admin', 'keys, webhooks, the audit log, everything'],
]
