// Tests of the forms: what is typed stays, and what is saved is what was meant.
import assert from 'node:assert/strict'

const notice = (page, text) => page.locator('.notices').getByText(text).first().waitFor()
const raw = async (server, path) => (await fetch(`${server.url}/api/v1${path}`)).text()

export const forms = {
  async 'saving a schedule keeps what its form does not have'({ open, api, mock }) {
    if (mock) return
    const rest = { priority: 'high', tags: { tenant: 'acme' }, group: 'g1', retry_backoff: 'linear', expire_after: '2h' }
    const made = await api.post('/schedules', { name: 'keeps-all', queue: 'ui.keeps', cron: '*/45 * * * *', unique_key: 'k', ...rest })
    const { page, go } = await open()
    await go(`/schedules/${made.id}`)
    await page.locator('.head').getByText('*/45 * * * *, UTC').waitFor()
    await page.getByLabel('Payload').fill('{"n": 9007199254740993}')
    await page.getByLabel('Unique key').fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await notice(page, 'keeps-all is saved')
    const now = await api.get(`/schedules/${made.id}`)
    for (const name of Object.keys(rest)) assert.deepEqual(now[name], made[name], name)
    assert.ok(made.group && made.priority === 'high')
    assert.equal(now.unique_key ?? null, null)
    assert.equal(now.cron, made.cron)
  },

  async 'edits of a schedule outlive pausing it and a restart of the server'({ open, server, api, mock }) {
    const { page, go } = await open()
    const { id } = await api.post('/schedules', { name: 'edited', queue: 'ui.keeps', cron: '0 9 * * *' })
    await go(`/schedules/${id}`)
    await page.getByLabel('Unique key').fill('mine')
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    assert.equal(await page.getByLabel('Unique key').inputValue(), 'mine')
    if (mock) return
    await server.down()
    await page.getByRole('alert').getByText('The server is not answering').waitFor()
    // Nor is a change meanwhile a wrong one.
    await page.getByLabel('Time', { exact: true }).fill('10:30')
    await page.waitForTimeout(600)
    assert.equal(await page.getByText('cannot be reached').count(), 0)
    await server.up()
    const again = page.waitForResponse((r) => r.url().endsWith(id) && r.ok())
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await again
    await page.locator('.body-line', { hasText: ' 10:30' }).first().waitFor()
    assert.equal(await page.getByLabel('Unique key').inputValue(), 'mine')
  },

  async 'a schedule that is not there has no sentence, and a refusal without a field is shown'({ open, mock }) {
    if (mock) return
    const { page, go } = await open()
    await go('/schedules/sched_01HX0000000000000000000000')
    await page.getByText('That did not work').waitFor()
    assert.equal(await page.getByText('Every day').count(), 0)
    await go('/schedules/new')
    await page.getByLabel('Name').fill('too-many')
    await page.getByLabel('Queue').fill('ui.keeps')
    await page.getByLabel('Max attempts').fill('99999999999')
    await page.getByRole('button', { name: 'Create schedule' }).click()
    await page.locator('form').getByRole('alert').waitFor()
  },

  async 'settings of a queue: 0 is refused, and it is said what was saved'({ open, api, mock }) {
    if (mock) return
    await api.post('/enqueue', { queue: 'ui.settings', payload: {}, delay: '1h' })
    await api.post('/queues/ui.settings/concurrency', { max: 5 })
    const { page, go } = await open()
    await go('/queues/ui.settings')
    await page.locator('.head').getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Settings' }).click()
    const dialog = page.locator('dialog[open]')
    const max = dialog.getByLabel('Max concurrency')
    const limits = async () => (await api.get('/queues/ui.settings')).limits.concurrency
    const save = () => dialog.getByRole('button', { name: 'Save' }).click()
    await max.fill('0')
    await save()
    assert.equal(await max.evaluate((input) => input.matches(':invalid:focus')), true)
    assert.equal((await limits()).max, 5)
    await max.fill('7')
    await dialog.getByLabel('Completed').fill('soon')
    await save()
    await dialog.getByText(/Max concurrency: saved\. How long jobs are kept: not saved\./).waitFor()
    assert.equal((await limits()).max, 7)
    await max.fill('')
    await dialog.getByLabel('Completed').fill('3d')
    await save()
    await notice(page, 'Settings of ui.settings are saved')
    assert.equal(await limits(), null)
  },

  async 'a job without its time, or with half a tag, is not enqueued'({ open, api }) {
    const { page, go } = await open()
    let sent = 0
    page.on('request', (request) => request.url().endsWith('/enqueue') && sent++)
    await go('/new?queue=ui.refused')
    const button = page.getByRole('button', { name: 'Enqueue' })
    await page.getByRole('button', { name: 'At a time' }).click()
    await button.click()
    assert.equal(await page.getByLabel('Time', { exact: true }).evaluate((input) => input.matches(':invalid:focus')), true)
    await page.getByRole('button', { name: 'After a delay' }).click()
    await page.getByLabel('Delay').fill('')
    await button.click()
    assert.equal(await page.getByLabel('Delay').evaluate((input) => input.matches(':invalid:focus')), true)
    await page.getByLabel('Delay').fill('1h')
    await page.getByLabel('Tags').fill('tenant=acme, vip')
    await page.locator('.field').getByText('name=value').waitFor()
    assert.equal(await button.isDisabled(), true)
    assert.equal(sent, 0)
    await page.getByLabel('Tags').fill('tenant=acme, vip=yes')
    await button.click()
    await page.waitForURL('**/ui/jobs/job_*')
    assert.deepEqual((await api.get(`/jobs/${page.url().split('/').at(-1)}`)).tags, { tenant: 'acme', vip: 'yes' })
  },

  async 'a copy has the tags of its job, and edits of it stay'({ open, server, api, mock }) {
    if (mock) return
    const tags = '{"num":5,"big":9007199254740993,"flag":true,"none":null,"a b":"c, d","k=v":"x:y","tenant":"acme"}'
    const { job_id } = await api.post('/enqueue', `{"queue":"ui.copy","payload":{"n":1},"delay":"1h","group":"g 1","priority":"high","tags":${tags}}`)
    const { page, go, context } = await open()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await go(`/jobs/${job_id}`)
    await page.locator('.facts').getByText('tenant: acme').waitFor()
    assert.equal(await page.locator('.facts a.chip[href]').count(), 1)
    await page.getByRole('button', { name: 'Copy as CLI' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const cli = await page.evaluate(() => navigator.clipboard.readText())
    assert.ok(cli.includes(` --priority high --set 'tags=${tags}' --group 'g 1'`), cli)
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Enqueue a copy' }).click()
    await page.locator('form:not([inert])').waitFor()
    await page.getByLabel('Unique key').fill('mine')
    await server.down()
    await page.getByRole('alert').getByText('The server is not answering').waitFor()
    await server.up()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await page.getByLabel('Group').fill('g 2')
    await page.waitForTimeout(1000)
    await page.getByRole('button', { name: 'Enqueue' }).click()
    await page.waitForURL((url) => url.pathname.includes('/jobs/job_') && !url.pathname.endsWith(job_id))
    const copy = page.url().split('/').at(-1)
    assert.ok((await raw(server, `/jobs/${copy}`)).includes(`"tags":${tags}`))
    const made = await api.get(`/jobs/${copy}`)
    assert.deepEqual([made.unique_key, made.group, made.queue], ['mine', 'g 2', 'ui.copy'])
  },

  async 'progress of any shape is shown, and gone after a retry'({ open, api, mock }) {
    if (mock) return
    const { job_id } = await api.post('/enqueue', { queue: 'ui.progress', payload: { long: 'x'.repeat(200_000) } })
    await api.post('/fetch', { queues: ['ui.progress'], worker_id: 'ui-progress' })
    const { page, go } = await open()
    const tell = (progress) => api.post('/heartbeat', `{"jobs":{"${job_id}":{"progress":${progress}}}}`)
    const panel = page.locator('.panel', { has: page.getByRole('heading', { name: 'Progress' }) })
    await tell('{"percent":45}')
    await go(`/jobs/${job_id}`)
    await panel.getByText('45%').waitFor()
    assert.equal(await panel.getByRole('progressbar').getAttribute('aria-valuenow'), '45')
    assert.ok((await page.evaluate(() => document.querySelector('main').scrollHeight)) < 5000)
    await page.getByText('Live', { exact: true }).waitFor()
    await tell('"half way"')
    await panel.getByText('half way', { exact: true }).waitFor()
    assert.equal(await panel.getByRole('progressbar').count(), 0)
    await tell('{"step":"resize"}')
    await panel.getByText('{"step":"resize"}').waitFor()
    await tell('{"current":9007199254740993,"total":9007199254740995}')
    await panel.getByText('9,007,199,254,740,993 / 9,007,199,254,740,995').waitFor()
    await api.post(`/jobs/${job_id}/cancel`)
    await api.post(`/ack/${job_id}`, {})
    await page.getByRole('button', { name: 'Retry', exact: true }).click()
    await panel.waitFor({ state: 'detached' })
  },
}
