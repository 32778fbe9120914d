// Keys, webhooks, and a cluster of several nodes.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'

const notice = (page, text) => page.locator('.notices').getByText(text).first().waitFor()
const dialog = (page) => page.locator('dialog[open]')

/** Somebody to deliver to: answers what it is told to, and remembers. */
async function receiver() {
  const seen = []
  let status = 204
  const server = createServer(async (from, to) => {
    let body = ''
    for await (const part of from) body += part
    seen.push({ headers: from.headers, body: JSON.parse(body) })
    to.writeHead(status).end()
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return { seen, url: `http://127.0.0.1:${server.address().port}/hook`, answer: (code) => (status = code), end: () => (server.closeAllConnections(), server.close()) }
}

const node = (name, more) => ({ id: name.replace(/\D/g, '7'), name, address: `10.0.3.1${name.at(-1)}:7420`, http: null, role: 'follower', voter: true, connected: true, self: false, matched_index: 4200, lag: 0, round_trip_ms: 0.4, state: 'replicate', since: new Date().toISOString(), last_error: null, ...more })
const STATUS = {
  cluster_id: '3f2a9c51d07be846', node_id: '70', node: 'jobbie-0', role: 'leader', leader: 'jobbie-0', leader_id: '70', term: 4, applied_index: 4200, commit_index: 4200, stored_index: 4200, durable_index: 4200,
  state_hash: '8f3a1c209be44d17', live_jobs: 12, waiting_fetches: 2, store_lag_rows: 0, disk_full: false, quorum: 2, healthy: true, now: new Date().toISOString(), started_at: new Date(Date.now() - 3600e3).toISOString(),
  nodes: [
    node('jobbie-0', { role: 'leader', self: true, round_trip_ms: null, state: null, since: null }),
    node('jobbie-1', { lag: 3, matched_index: 4197 }),
    node('jobbie-2', { connected: false, lag: 2100, matched_index: 2100, round_trip_ms: null, state: 'probe', last_error: 'Connection refused', since: new Date(Date.now() - 180e3).toISOString() }),
  ],
}
const stub = (page, answer) => page.route('**/api/v1/cluster/status', (route) => route.fulfill({ json: answer() }))

export const admin = {
  async 'a key is made, shown once and revoked'({ open, api, axe, check, shots }) {
    const { page, go } = await open()
    await go('/keys')
    await page.getByRole('button', { name: 'New key' }).click()
    const create = dialog(page).getByRole('button', { name: 'Create key' })
    assert.equal(await create.isDisabled(), true)
    await dialog(page).getByLabel(/^Name/).fill('ui-ci')
    await dialog(page).getByRole('checkbox', { name: /^work/ }).check()
    await dialog(page).getByRole('checkbox', { name: /^admin/ }).check()
    assert.equal(await dialog(page).getByLabel(/^Queues/).isDisabled(), true)
    await dialog(page).getByRole('checkbox', { name: /^admin/ }).uncheck()
    await dialog(page).getByLabel(/^Queues/).fill('mail.*, sms')
    await check(page, axe, 'a new key')
    if (shots) await page.screenshot({ path: `${shots}/key-new.png` })
    await create.click()
    await dialog(page).getByText('the only time it is shown').waitFor()
    await check(page, axe, 'the secret of a key')
    if (shots) await page.screenshot({ path: `${shots}/key-made.png` })
    const secret = (await dialog(page).locator('.code code').textContent()).trim()
    assert.ok(secret.length >= 20, secret)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await dialog(page).getByRole('button', { name: 'Copy' }).click()
    await dialog(page).getByRole('button', { name: 'Copied' }).waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret)
    await dialog(page).getByRole('button', { name: 'I have kept it' }).click()
    const row = page.locator('tr', { has: page.getByRole('button', { name: 'Revoke ui-ci' }) })
    await row.getByText('mail.*, sms').waitFor()
    const made = (await api.get('/keys')).keys.find((key) => key.name === 'ui-ci')
    assert.deepEqual([made.scopes, made.queues], [['produce', 'work'], ['mail.*', 'sms']])
    assert.equal(await page.getByText(secret).count(), 0)

    await page.getByRole('button', { name: 'New key' }).click()
    await dialog(page).getByLabel(/^Name/).fill('ui-ci')
    await create.click()
    await dialog(page).getByRole('alert').waitFor()
    await dialog(page).getByRole('button', { name: 'Cancel' }).click()

    await row.getByRole('button', { name: 'Revoke' }).click()
    await dialog(page).getByText('is refused from here on').waitFor()
    await dialog(page).getByRole('button', { name: 'Revoke the key' }).click()
    await notice(page, 'ui-ci is revoked')
    await row.waitFor({ state: 'detached' })
    assert.equal((await api.get('/keys')).keys.some((key) => key.name === 'ui-ci'), false)
    await page.getByText('key.revoke').first().waitFor()
  },

  async 'a webhook is made, tested, paused, changed and removed'({ open, api, mock, axe, check, shots }) {
    const target = await receiver()
    try {
      const { page, go } = await open()
      await go('/webhooks')
      await page.getByRole('button', { name: 'New webhook' }).click()
      await dialog(page).getByLabel('URL').fill('http://name@127.0.0.1/#x')
      await dialog(page).getByRole('button', { name: 'Create webhook' }).click()
      if (!mock) await dialog(page).getByRole('alert').waitFor()
      else await page.goto(page.url().replace(/webhooks.*/, 'webhooks')).then(() => page.getByRole('button', { name: 'New webhook' }).click())
      await dialog(page).getByLabel('URL').fill(target.url)
      await dialog(page).getByLabel('Only of queue').fill('ui.hooks*')
      await dialog(page).getByLabel('Secret').fill('a secret of ours')
      await dialog(page).getByLabel('Every event').uncheck()
      await dialog(page).getByLabel('failed', { exact: true }).uncheck()
      await dialog(page).getByLabel('enqueued', { exact: true }).check()
      await check(page, axe, 'a new webhook')
      if (shots) await page.screenshot({ path: `${shots}/webhook-new.png` })
      await dialog(page).getByRole('button', { name: 'Create webhook' }).click()
      await page.waitForURL('**/ui/webhooks/hook_*')
      for (const text of ['active', 'signed', 'queue ui.hooks*', 'enqueued', 'dead']) await page.locator('.head .chip').getByText(text, { exact: true }).waitFor()
      const id = page.url().split('/').at(-1)

      await page.getByRole('button', { name: 'Test', exact: true }).click()
      await notice(page, 'A test is on its way')
      const rows = page.locator('tbody tr')
      await rows.first().getByText('test').waitFor()
      await rows.first().getByText('delivered').waitFor()
      if (!mock) {
        assert.match(target.seen[0].headers['jobbie-signature'], /^t=\d+,v1=[0-9a-f]{64}$/)
        target.answer(500)
        const { job_id } = await api.post('/enqueue', { queue: 'ui.hooks.a', payload: {}, delay: '1h' })
        await page.getByRole('button', { name: 'Waiting' }).click()
        const late = rows.filter({ has: page.locator(`a[href$="${job_id}"]`) })
        await late.getByText('500', { exact: true }).waitFor()
        target.answer(204)
        await late.getByRole('button', { name: 'Send again' }).click()
        await notice(page, 'It is sent once more')
        await page.locator('.tabs').getByRole('button', { name: 'Delivered' }).click()
        await page.waitForURL(/state=delivered/)
        await late.getByText('204', { exact: true }).waitFor()
        if (shots) await page.screenshot({ path: `${shots}/webhook-log.png` })
      }
      await page.getByRole('button', { name: 'Pause', exact: true }).click()
      await page.locator('.head .chip').getByText('paused').waitFor()
      const paused = await api.get(`/webhooks/${id}`)
      assert.deepEqual([paused.active, paused.queue, paused.has_secret, paused.events.length], [false, 'ui.hooks*', true, 2])
      await page.getByRole('button', { name: 'Edit' }).click()
      await dialog(page).getByLabel('Every event').check()
      await dialog(page).getByLabel('Only of queue').fill('')
      await dialog(page).getByLabel('Active').check()
      await dialog(page).getByRole('button', { name: 'Save' }).click()
      await page.locator('.head .chip').getByText('every event').waitFor()
      const changed = await api.get(`/webhooks/${id}`)
      assert.deepEqual([changed.active, changed.queue, changed.has_secret, changed.events], [true, null, true, ['*']])
      await page.getByRole('button', { name: 'Remove', exact: true }).click()
      await dialog(page).getByRole('button', { name: 'Remove' }).click()
      await page.waitForURL('**/ui/webhooks')
      assert.equal((await api.get('/webhooks')).webhooks.some((hook) => hook.id === id), false)
    } finally {
      target.end()
    }
  },

  async 'a key without admin may not see keys and webhooks'({ open }) {
    const { page, go } = await open()
    const refused = { status: 403, contentType: 'application/problem+json', body: '{"status":403,"code":"forbidden","detail":"The scope admin is missing."}' }
    for (const path of ['keys', 'audit', 'webhooks']) await page.route(`**/api/v1/${path}`, (route) => route.fulfill(refused))
    await go('/webhooks')
    await page.getByText('This key may not see it').waitFor()
    assert.equal(await page.getByRole('button', { name: 'New webhook' }).count(), 0)
    await go('/keys')
    await page.getByText('This key may not see it').first().waitFor()
    assert.equal(await page.getByRole('button', { name: 'New key' }).count(), 0)
  },

  async 'a cluster of three, one of them away'({ open, axe, check, shots }) {
    const { page, go } = await open()
    await stub(page, () => STATUS)
    const asked = []
    await page.route('**/api/v1/cluster/transfer', (route) => (asked.push(route.request().postDataJSON()), route.fulfill({ json: { leader: 'jobbie-1' } })))
    await page.route('**/api/v1/cluster/nodes/*', (route) => (asked.push(`${route.request().method()} ${route.request().url().split('/').at(-1)}`), route.fulfill({ json: { status: 'removed' } })))
    await go('/cluster')
    await page.locator('.head').getByText('2 of 3 voters in touch, none may fail').waitFor()
    const card = (name) => page.locator('article', { has: page.getByRole('heading', { name }) })
    await card('jobbie-0').getByText('this one').waitFor()
    await card('jobbie-0').getByText('leader', { exact: true }).waitFor()
    await card('jobbie-1').getByText('healthy').waitFor()
    await card('jobbie-1').getByText('3 behind').waitFor()
    await card('jobbie-1').getByText('0.4 ms').waitFor()
    await card('jobbie-2').getByText('away', { exact: true }).waitFor()
    await card('jobbie-2').getByText('The leader cannot reach it').waitFor()
    await card('jobbie-2').getByText(/^\d+m ago/).waitFor()
    await check(page, axe, 'a cluster of three')
    if (shots) await page.screenshot({ path: `${shots}/cluster-three.png` })
    assert.equal(await page.getByRole('button', { name: 'Make jobbie-0 the leader' }).count(), 0)
    assert.equal(await page.getByRole('button', { name: 'Make jobbie-2 the leader' }).isDisabled(), true)
    await page.getByRole('button', { name: 'Make jobbie-1 the leader' }).click()
    await dialog(page).getByRole('button', { name: 'Hand over' }).click()
    await notice(page, 'jobbie-1 is to lead')
    await page.getByRole('button', { name: 'Remove jobbie-1' }).click()
    await dialog(page).getByText('2 voters remain, of which 2 have to agree; 1 is in touch now').waitFor()
    await dialog(page).getByText('the cluster would stop').waitFor()
    if (shots) await page.screenshot({ path: `${shots}/cluster-remove.png` })
    await dialog(page).getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Remove jobbie-2' }).click()
    await dialog(page).getByText('2 voters remain, of which 2 have to agree; 2 are in touch now').waitFor()
    const sure = dialog(page).getByRole('button', { name: 'Remove the node' })
    assert.equal(await sure.isDisabled(), true)
    await dialog(page).getByRole('textbox').fill('jobbie-2')
    await sure.click()
    await notice(page, 'jobbie-2 is removed')
    assert.deepEqual(asked, [{ to: 'jobbie-1' }, 'DELETE jobbie-2'])
    await go('/')
    await page.getByText('jobbie-2 is away').waitFor()
    await page.getByText('2 of 3 voters in touch').waitFor()
    if (shots) await page.screenshot({ path: `${shots}/overview-three.png`, fullPage: true })
  },

  async 'a server that runs alone has nothing to hand over'({ open }) {
    const { page, go } = await open()
    const alone = { node_id: 1, role: 'leader', leader_id: 1, term: 2, applied_index: 9, stored_index: 9, durable_index: 9, state_hash: 'ff', live_jobs: 0, waiting_fetches: 0, store_lag_rows: 0, disk_full: false, now: STATUS.now, started_at: STATUS.started_at, nodes: [{ id: 1, role: 'leader', applied_index: 9 }] }
    await stub(page, () => alone)
    await go('/cluster')
    await page.locator('.head').getByText('1 node: it runs alone').waitFor()
    await page.getByRole('heading', { name: 'node 1' }).waitFor()
    assert.equal(await page.getByRole('button', { name: /leader|Remove/ }).count(), 0)
  },

  async 'a banner says that there is no leader, and goes by itself'({ open, axe, check, shots }) {
    const { page, go } = await open()
    let leader = 'jobbie-1'
    await stub(page, () => ({ ...STATUS, role: 'follower', leader, leader_id: null, nodes: STATUS.nodes.map((n) => ({ ...n, role: n.name === leader ? 'leader' : 'follower', lag: null, matched_index: null })) }))
    await page.route('**/api/v1/queues/*/pause', (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"status":503,"code":"no_leader","detail":"The cluster has no leader at the moment."}' }))
    await go('/queues')
    await page.getByText('emails.send').first().waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    // An action is refused before the status was asked for again.
    leader = null
    await page.getByRole('button', { name: 'Pause emails.send' }).click()
    await page.getByRole('alert').getByText('The cluster has no leader').waitFor()
    await page.getByText('emails.send').first().waitFor()
    leader = 'jobbie-2'
    await page.getByRole('alert').waitFor({ state: 'detached' })
    // And without an action: the status is enough.
    leader = null
    await page.getByRole('alert').getByText('The cluster has no leader').waitFor()
    await check(page, axe, 'no leader')
    if (shots) await page.screenshot({ path: `${shots}/no-leader.png` })
    await page.getByRole('alert').getByRole('link', { name: 'Nodes' }).click()
    await page.locator('.head').getByText('no leader yet').or(page.locator('.head').getByText('in touch')).first().waitFor()
    leader = 'jobbie-2'
    await page.getByRole('alert').waitFor({ state: 'detached' })
  },

  async 'a key that may not manage has no buttons in the cluster'({ open }) {
    const { page, go } = await open()
    await stub(page, () => STATUS)
    await page.route('**/api/v1/whoami', (route) => route.fulfill({ json: { auth: true, key: { id: 'key_1', name: 'viewer' }, scopes: ['work'], queues: ['*'] } }))
    await go('/cluster')
    await page.getByText('Read only').waitFor()
    await page.getByText('The leader cannot reach it').waitFor()
    assert.equal(await page.getByRole('button', { name: /leader|Remove/ }).count(), 0)
  },
}
