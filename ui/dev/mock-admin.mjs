// The part of the stand-in that few may use: keys, audit, webhooks, and a cluster of three.
export function admin(on, { A, iso, ulid, problem, started, figures }) {
  const keys = new Map()
  const hooks = new Map()
  const deliveries = new Map()
  const actions = []
  const note = (action, target) => actions.unshift({ number: actions.length + 1, at: iso(Date.now()), by: 'anonymous', key: null, address: '127.0.0.1', action, target, outcome: 'ok' })
  const of = (map, id, what) => map.get(id) ?? (() => { throw problem(404, 'not_found', `There is no such ${what}.`) })()

  function makeKey({ name, scopes, queues = ['*'] }, created = Date.now()) {
    if ([...keys.values()].some((k) => k.name === name)) throw problem(409, 'name_taken', `There is a key called ${name}.`, 'name')
    const secret = `jb_${Math.random().toString(36).slice(2).padEnd(12, '0')}${Math.random().toString(36).slice(2).padEnd(12, '0')}`
    const key = { id: ulid('key'), name, scopes, queues, last_four: secret.slice(-4), created_at: iso(created) }
    keys.set(key.id, key)
    return { ...key, secret }
  }
  makeKey({ name: 'admin', scopes: ['admin'] }, started - 86400e3 * 12)
  makeKey({ name: 'mailer', scopes: ['produce', 'work'], queues: ['emails.*'] }, started - 86400e3 * 3)
  on('GET', `${A}/keys`, () => ({ keys: [...keys.values()] }))
  on('POST', `${A}/keys`, (_, b) => { const key = makeKey(b); note('key.create', key.name); return { status_: 201, ...key } })
  on('DELETE', `${A}/keys/:id`, ({ id }) => { note('key.revoke', of(keys, id, 'key').name); keys.delete(id); return { key_id: id, status: 'revoked' } })
  on('GET', `${A}/audit`, () => ({ actions, cursor: null, has_more: false }))

  function deliver(hook, event, state = 'delivered', job_id = null) {
    const bad = state === 'failed'
    const d = { id: ulid('dlv'), webhook_id: hook.id, event, state, job_id, queue: null, at: iso(Date.now()), attempts: bad ? 8 : 1, next_attempt_at: null, status: bad ? 502 : 204, error: bad ? 'the answer was 502' : null, ended_at: iso(Date.now()) }
    deliveries.set(d.id, d)
    hook[state]++
    return d
  }
  function makeHook({ url, events = ['*'], queue = null, secret, active = true }, id = ulid('hook')) {
    if (!/^https?:/.test(url)) throw problem(422, 'invalid', 'url has to begin with http:// or https://.', 'url')
    const was = hooks.get(id)
    const hook = { delivered: 0, failed: 0, dropped: 0, created_at: iso(Date.now()), ...was, id, url, events: events ?? ['*'], queue, active, has_secret: !!secret || !!was?.has_secret }
    hooks.set(id, hook)
    return hook
  }
  const first = makeHook({ url: 'https://hooks.example.com/jobbie', events: ['failed', 'dead'], queue: 'emails.*', secret: 'x' })
  for (let n = 0; n < 6; n++) deliver(first, n % 2 ? 'failed' : 'dead', n === 3 ? 'failed' : 'delivered')
  on('GET', `${A}/webhooks`, () => ({ webhooks: [...hooks.values()] }))
  on('POST', `${A}/webhooks`, (_, b) => ({ status_: 201, ...makeHook(b) }))
  on('GET', `${A}/webhooks/:id`, ({ id }) => of(hooks, id, 'webhook'))
  on('PUT', `${A}/webhooks/:id`, ({ id }, b) => makeHook(b, of(hooks, id, 'webhook').id))
  on('DELETE', `${A}/webhooks/:id`, ({ id }) => { hooks.delete(of(hooks, id, 'webhook').id); return { webhook_id: id, status: 'deleted' } })
  on('POST', `${A}/webhooks/:id/test`, ({ id }) => ({ status_: 202, ...deliver(of(hooks, id, 'webhook'), 'test') }))
  on('GET', `${A}/webhooks/:id/deliveries`, ({ id }, _, q) => ({ deliveries: [...deliveries.values()].filter((d) => d.webhook_id === id && (!q.get('state') || d.state === q.get('state'))).reverse(), cursor: null, has_more: false }))
  on('POST', `${A}/webhooks/:id/deliveries/:d/retry`, ({ d }) => { const delivery = of(deliveries, d, 'delivery'); Object.assign(delivery, { state: 'delivered', status: 204, error: null, attempts: delivery.attempts + 1 }); return { status_: 202, ...delivery } })

  let leader = 'jobbie-0'
  const names = ['jobbie-0', 'jobbie-1', 'jobbie-2']
  on('POST', `${A}/cluster/transfer`, (_, b) => { leader = b.to; return { leader } })
  on('DELETE', `${A}/cluster/nodes/:name`, ({ name }) => { names.splice(names.indexOf(name), 1); return { name, status: 'removed' } })
  on('GET', `${A}/cluster/status`, () => {
    const { index, live } = figures()
    const nodes = names.map((name, n) => ({ id: String(7100 + n), name, address: `10.0.3.${7 + n}:7420`, http: `10.0.3.${7 + n}:8080`, role: name === leader ? 'leader' : 'follower', voter: true, connected: true, self: n === 0, matched_index: index - n, lag: n, round_trip_ms: n ? 0.3 + n / 10 : null, state: n ? 'replicate' : null, since: n ? iso(Date.now() - 3600e3) : null, last_error: null }))
    return { cluster_id: '3f2a9c51d07be846', node_id: '7100', node: names[0], role: nodes[0].role, leader, leader_id: nodes.find((n) => n.name === leader)?.id ?? null, term: 4, applied_index: index, commit_index: index, stored_index: index - 40, durable_index: index, state_hash: '8f3a1c209be44d17', live_jobs: live, waiting_fetches: 12, store_lag_rows: 40, disk_full: false, quorum: Math.floor(names.length / 2) + 1, healthy: true, now: iso(Date.now()), started_at: iso(started - 4 * 3600e3), nodes }
  })
}
