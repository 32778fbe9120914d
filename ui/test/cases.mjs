// The tests. Each gets a server with a workload, and opens windows of its own.
import assert from 'node:assert/strict'

const SCREENS = (ids) => ({
  overview: '/',
  queues: '/queues',
  queue: '/queues/emails.send',
  jobs: '/jobs?state=dead',
  job: `/jobs/${ids.special}`,
  dead: `/jobs/${ids.dead}`,
  pending: `/jobs/${ids.pending}`,
  errors: '/errors',
  schedules: '/schedules',
  schedule: `/schedules/${ids.schedule}`,
  'new-schedule': '/schedules/new',
  batches: '/batches',
  batch: `/batches/${ids.batch}`,
  groups: '/groups',
  bulk: '/bulk',
  workers: '/workers',
  cluster: '/cluster',
  events: '/events',
  new: '/new',
  webhooks: '/webhooks',
  webhook: `/webhooks/${ids.webhook}`,
  keys: '/keys',
})
const NEEDS_DATA = { overview: 'emails.send', queues: 'emails.send', queue: 'job_', jobs: 'job_', job: 'Attempt history', dead: 'Last error', pending: 'Why is it not running', errors: 'SMTP', schedules: 'daily-report', schedule: 'Next runs', batches: 'batch_', batch: 'job_', groups: 'spring', workers: 'worker-', cluster: 'leader', webhooks: 'hooks.example', webhook: 'dead' }

export async function check(page, axe, where) {
  // The page's policy lets no script in but its own; the test's goes around it.
  await page.evaluate(axe)
  const violations = await page.evaluate(async () => {
    const found = await globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] })
    return found.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary?.split('\n')[1] ?? ''}`).join(' | ')}`)
  })
  assert.deepEqual(violations, [], `axe on ${where}`)
}
async function everyScreen({ open, ids, axe, shots }, options, names) {
  const { page, go } = await open(options)
  for (const [name, path] of Object.entries(SCREENS(ids))) {
    if (names && !names.includes(name)) continue
    await go(path)
    await page.locator('h1').first().waitFor()
    if (NEEDS_DATA[name]) await page.getByText(NEEDS_DATA[name]).first().waitFor({ state: 'attached' })
    await page.waitForTimeout(name === 'overview' || name === 'queue' ? 900 : 250)
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    assert.ok(wide <= 1, `${name} is ${wide} px wider than the window`)
    await check(page, axe, `${name} ${JSON.stringify(options)}`)
    if (shots) await page.screenshot({ path: `${shots}/${name}${options.theme === 'dark' ? '-dark' : ''}${options.phone ? '-phone' : ''}.png` })
  }
}
const PHONE = ['overview', 'queues', 'queue', 'jobs', 'job', 'errors', 'schedules', 'new-schedule', 'workers', 'cluster', 'events', 'webhook', 'keys', 'new']
const notice = (page, text) => page.locator('.notices').getByText(text).first().waitFor()
const dialog = (page) => page.locator('dialog[open]')

export const tests = {
  'every screen, light': (t) => everyScreen(t, { theme: 'light' }),
  'every screen, dark': (t) => everyScreen(t, { theme: 'dark' }),
  'screens on a phone, light': (t) => everyScreen(t, { phone: true }, PHONE),
  'screens on a phone, dark': (t) => everyScreen(t, { phone: true, theme: 'dark' }, ['overview', 'queue', 'job']),

  async 'security headers and files'({ server, mock }) {
    const page = await fetch(`${server.url}/ui/queues/x`)
    assert.equal(page.status, 200)
    assert.match(page.headers.get('content-security-policy'), /default-src 'none'; script-src 'self'/)
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
    const html = await page.text()
    assert.doesNotMatch(html, /<script(?![^>]*src=)|<style|style=|https?:\/\//)
    const root = await fetch(`${server.url}/`, { headers: { accept: 'text/html' }, redirect: 'manual' })
    assert.equal(root.headers.get('location'), '/ui/')
    if (mock) return
    const script = /src="(\/ui\/assets\/[^"]+)"/.exec(html)[1]
    const file = await fetch(server.url + script)
    assert.match(file.headers.get('cache-control'), /immutable/)
    const again = await fetch(server.url + script, { headers: { 'if-none-match': file.headers.get('etag') } })
    assert.equal(again.status, 304)
    assert.equal((await (await fetch(`${server.url}/`)).json()).name, 'jobbie')
    const foreign = await fetch(`${server.url}/api/v1/queues/emails.send/pause`, { method: 'POST', headers: { origin: 'https://evil.example' } })
    assert.equal(foreign.status, 403)
  },

  async 'markup in a payload stays text, numbers stay exact'({ open, ids }) {
    const { page, go } = await open()
    await go(`/jobs/${ids.special}`)
    const tree = page.locator('.json').first()
    await tree.getByText('9007199254740993').waitFor()
    await tree.getByText('1.0', { exact: true }).waitFor()
    await tree.getByText('1e-400', { exact: true }).waitFor()
    await tree.getByText('<img src=x onerror').waitFor()
    await page.getByRole('button', { name: 'Text' }).first().click()
    await page.getByText('"exact": 9007199254740993').waitFor()
    assert.equal(await page.evaluate(() => globalThis.hit), undefined)
    assert.equal(await page.locator('main img').count(), 0)
  },

  async 'progress and log of a job are live'({ open, ids, api, mock }) {
    const { page, go } = await open()
    await go(`/jobs/${ids.special}`)
    await page.getByText('Sending batch').first().waitFor()
    await page.getByRole('log').getByText('Connecting to smtp').waitFor()
    if (mock) return void (await page.getByRole('log').getByText(/Sent \d+ of 1000/).first().waitFor())
    await api.post('/heartbeat', { jobs: { [ids.special]: { progress: { current: 777, total: 1000, message: 'Sending batch' } } } })
    await page.getByText('777 / 1,000').waitFor()
    await api.post(`/jobs/${ids.special}/logs`, { lines: [{ message: 'a fresh line' }] })
    await page.getByRole('log').getByText('a fresh line').waitFor()
  },

  async 'new jobs wait behind a pill, rows change in place'({ open, api }) {
    const { page, go } = await open()
    await api.post('/enqueue', { queue: 'ui.live', payload: { n: 0 } })
    await api.post('/queues/ui.live/pause')
    await go('/queues/ui.live')
    await page.locator('h2', { hasText: /1 job/ }).waitFor()
    const { job_id } = await api.post('/enqueue', { queue: 'ui.live', payload: { n: 1 } })
    await page.getByRole('button', { name: /1 new job/ }).click()
    await page.locator(`a[href$="${job_id}"]`).waitFor()
    await api.post(`/jobs/${job_id}/cancel`)
    await page.locator('tr', { has: page.locator(`a[href$="${job_id}"]`) }).getByText('cancelled').waitFor()
  },

  async 'a queue is paused, resumed, limited and cleared'({ open, api }) {
    const { page, go } = await open()
    await api.post('/enqueue/batch', { jobs: Array.from({ length: 3 }, () => ({ queue: 'ui.queue', payload: {}, delay: '1h' })) })
    await go('/queues/ui.queue')
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await notice(page, 'ui.queue is paused')
    await page.locator('.head .chip').getByText('paused').waitFor()
    await page.locator('.notices').getByRole('button', { name: 'Undo' }).click()
    await page.locator('.head .chip').getByText('active').waitFor()
    await page.getByRole('button', { name: 'Drain' }).click()
    await page.locator('.head .chip').getByText('draining').waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.locator('.head').getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Settings' }).click()
    await dialog(page).getByLabel('Max concurrency').fill('4')
    await dialog(page).getByLabel('Rate limit').fill('90')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await page.locator('.head').getByText('concurrency 4').waitFor()
    await page.locator('.head').getByText('at most 90 per').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await dialog(page).getByRole('button', { name: 'Delete 3 jobs' }).click()
    await notice(page, '3 jobs deleted')
    await page.locator('.head').getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Delete the queue' }).click()
    const sure = dialog(page).getByRole('button', { name: 'Delete the queue' })
    assert.equal(await sure.isDisabled(), true)
    await dialog(page).getByRole('textbox').fill('ui.queue')
    await sure.click()
    await page.waitForURL('**/ui/queues')
  },

  async 'a job is cancelled, retried with another payload, moved and deleted'({ open, api, mock }) {
    const { page, go } = await open()
    const { job_id } = await api.post('/enqueue', { queue: 'ui.job', payload: { a: 1 }, delay: '1h' })
    await go(`/jobs/${job_id}`)
    await page.getByText('Why is it not running').waitFor()
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.locator('.head').getByText('cancelled').waitFor()
    await api.post('/queues/ui.job/pause')
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Retry with another payload' }).click()
    await dialog(page).locator('textarea').fill('{"a": nope}')
    await dialog(page).getByText('This is not JSON').waitFor()
    await dialog(page).locator('textarea').fill('{"a": 9007199254740995}')
    await dialog(page).getByRole('button', { name: 'Retry with this payload' }).click()
    await page.locator('.head').getByText('pending').waitFor()
    await page.locator('.json').getByText(/900719925474099[456]/).first().waitFor()
    // The stand-in works on every queue that is not paused.
    if (mock) await api.post('/queues/ui.elsewhere/pause')
    await page.getByRole('button', { name: 'Move', exact: true }).click()
    await dialog(page).getByLabel('Target queue').fill('ui.elsewhere')
    await dialog(page).getByRole('button', { name: 'Move' }).click()
    await notice(page, 'Moved to ui.elsewhere')
    await page.locator('.head').getByText('ui.elsewhere').waitFor()
    await page.locator('.notices').getByRole('button', { name: 'Undo' }).click()
    await page.locator('.head').getByText('ui.job').waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await page.waitForURL('**/ui/queues/ui.job')
  },

  async 'a search is in the address, and a bad one is explained'({ open }) {
    const { page, go } = await open()
    await go('/jobs')
    await page.getByLabel('jq filter').fill('.template == "welcome"')
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.waitForURL(/payload_jq=/)
    await page.getByRole('button', { name: /^dead/ }).click()
    await page.waitForURL(/state=dead/)
    await page.reload()
    assert.equal(await page.getByLabel('jq filter').inputValue(), '.template == "welcome"')
    await page.locator('h2').getByText(/\d+ jobs?/).first().waitFor()
    await page.goBack()
    await page.getByLabel('jq filter').fill('.template ==')
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.locator('.field .bad').waitFor()
    await page.getByRole('button', { name: 'Reset' }).click()
    await page.locator('tbody tr').first().waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.waitForURL(/page=2/)
    await page.getByText('Page 2').waitFor()
    await page.getByRole('button', { name: 'Page before' }).click()
    await page.getByText('Page 1').waitFor()
  },

  async 'marked jobs are acted upon together'({ open, api }) {
    const { page, go } = await open()
    await api.post('/enqueue/batch', { jobs: Array.from({ length: 4 }, (_, n) => ({ queue: 'ui.marks', payload: { n }, delay: '1h' })) })
    await go('/queues/ui.marks')
    await page.locator('tbody tr').first().waitFor()
    for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key)
    await page.getByText('2 selected').waitFor()
    await page.getByRole('toolbar').getByRole('button', { name: 'Cancel' }).click()
    await dialog(page).getByText('Preview').waitFor()
    await dialog(page).getByRole('button', { name: 'Cancel 2 jobs' }).click()
    await notice(page, '2 jobs cancelled')
    await page.locator('tr').getByText('cancelled').nth(1).waitFor()
  },

  async 'a bulk operation over many jobs'({ open, api, mock }) {
    const { page, go } = await open()
    const many = 20_000
    if (!mock)
      for (let n = 0; n < many; n += 5000)
        await api.post('/enqueue/batch', { jobs: Array.from({ length: 5000 }, (_, i) => ({ queue: 'ui.many', payload: { n: n + i }, delay: '2h' })) })
    await go(mock ? '/jobs?payload_contains=everything-large' : '/queues/ui.many?charts=off')
    if (mock) {
      await go('/queues/emails.send?payload_contains=everything-large')
      await page.getByText('No job fits').waitFor()
      await page.keyboard.press('Control+k')
      await dialog(page).getByRole('combobox').fill('Delete all jobs found')
      await page.keyboard.press('Enter')
    } else {
      await page.getByLabel('Select this page').check()
      await page.getByRole('button', { name: /Select all/ }).click()
      await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click()
    }
    const text = mock ? '142,000' : '20,000'
    await dialog(page).getByText(`${text} jobs`).first().waitFor()
    const act = dialog(page).getByRole('button', { name: new RegExp(`^Delete ${text}`) })
    assert.equal(await act.isDisabled(), true)
    await dialog(page).getByRole('textbox').fill(text)
    await act.click()
    await page.waitForURL('**/ui/bulk/bulk_*')
    await page.getByText('Elapsed').waitFor()
    await page.locator('.head').getByText('completed').waitFor({ timeout: 120_000 })
    await page.getByText(`${text} / ${text}`).waitFor()
  },

  async 'errors of a kind are retried together'({ open, shots, mock }) {
    const { page, go } = await open()
    await go('/errors?queue=emails.send')
    await page.getByText('SMTP').first().waitFor()
    await page.getByRole('button', { name: 'Retry' }).first().click()
    await dialog(page).getByText(/This will retry/).waitFor()
    if (shots) await page.screenshot({ path: `${shots}/bulk-dialog.png` })
    await dialog(page).getByRole('button', { name: 'Cancel' }).click()
    // Its jobs are those of the group, and no others that speak alike.
    const row = page.locator('tbody tr').first()
    const n = mock ? '\\d+' : await row.locator('td').first().textContent()
    const link = row.locator('a').first()
    const text = await link.textContent()
    await row.getByRole('button', { name: 'Delete' }).click()
    await dialog(page).locator('.chip', { hasText: text }).waitFor()
    await dialog(page).getByRole('button', { name: new RegExp(`^Delete ${n} jobs?$`) }).waitFor()
    await dialog(page).getByRole('button', { name: 'Cancel' }).click()
    await link.click()
    await page.waitForURL(/error_group=[\da-f]{16}/)
    await page.locator('h2', { hasText: new RegExp(`^${n} jobs? `) }).waitFor()
    await page.getByLabel('Error group').waitFor()
  },

  async 'a schedule is made in a sentence, run, paused and deleted'({ open }) {
    const { page, go } = await open()
    await go('/schedules/new')
    await page.getByLabel('Name').fill('weekly-digest')
    await page.getByLabel('Queue').fill('ui.schedules')
    await page.getByLabel('Every').selectOption('week')
    await page.getByLabel('Time', { exact: true }).fill('07:30')
    await page.getByLabel('Time zone').last().fill('Europe/Berlin')
    await page.locator('.head').getByText('At 07:30 on Monday, Europe/Berlin').waitFor()
    await page.locator('.body-line').nth(9).waitFor()
    await page.getByRole('button', { name: 'Create schedule' }).click()
    await page.waitForURL('**/ui/schedules')
    await page.getByRole('button', { name: 'Run weekly-digest now' }).click()
    await notice(page, 'weekly-digest runs now')
    await page.getByRole('button', { name: 'Pause weekly-digest' }).click()
    await page.locator('tr', { hasText: 'weekly-digest' }).getByText('paused').waitFor()
    await page.getByRole('link', { name: 'weekly-digest' }).click()
    await page.getByLabel('Every').getByText('week').first().waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await page.waitForURL('**/ui/schedules')
    assert.equal(await page.getByRole('link', { name: 'weekly-digest' }).count(), 0)
  },

  async 'a job is made with the form'({ open }) {
    const { page, go } = await open()
    await go('/new')
    await page.getByLabel('Queue').fill('ui.form')
    await page.locator('textarea').fill('{"exact": 9007199254740993, "one": 1.0}')
    await page.getByLabel('Tags').fill('tenant=acme')
    await page.getByRole('button', { name: 'After a delay' }).click()
    await page.getByRole('button', { name: 'Enqueue' }).click()
    await page.waitForURL('**/ui/jobs/job_*')
    await page.locator('.json').getByText('9007199254740993').waitFor()
    await page.locator('.json').getByText('1.0', { exact: true }).waitFor()
    await page.locator('.head').getByText('scheduled').waitFor()
  },

  async 'keys and palette lead everywhere'({ open }) {
    const { page, go } = await open()
    await go('/')
    await page.getByText('emails.send').first().waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('w')
    await page.waitForURL('**/ui/workers')
    await page.keyboard.press('?')
    await dialog(page).getByText('next, previous row').waitFor()
    await page.keyboard.press('Escape')
    await dialog(page).waitFor({ state: 'detached' })
    // Typed and entered before the queues are there.
    const queues = /\/api\/v1\/queues(\?|$)/
    await page.route(queues, async (route) => {
      await new Promise((done) => setTimeout(done, 700))
      await route.continue()
    })
    await page.keyboard.press('Control+k')
    await dialog(page).getByRole('combobox').fill('emails.send')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/ui/queues/emails.send')
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    // The address is there before the screen, and the screen before it has rows as well.
    await page.locator('input[name=payload_contains]').waitFor()
    await page.locator('tbody tr').first().waitFor()
    await page.keyboard.press('/')
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('name')), 'payload_contains')
    await page.keyboard.press('Tab')
    await page.evaluate(() => document.activeElement.blur())
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/ui/jobs/job_*')
  },

  async 'themes and zones are kept'({ open }) {
    const { page, go } = await open()
    await go('/cluster')
    await page.getByRole('button', { name: 'Dark' }).click()
    await page.locator('aside select').selectOption('Asia/Tokyo')
    await page.reload()
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
    assert.equal(await page.locator('aside select').inputValue(), 'Asia/Tokyo')
  },

  async 'a key that may not manage only looks'({ open, ids }) {
    const { page, go } = await open()
    await page.route('**/api/v1/whoami', (route) => route.fulfill({ json: { auth: true, scopes: ['work'] } }))
    await go(`/jobs/${ids.dead}`)
    await page.getByText('Read only').waitFor()
    await page.getByText('Payload').first().waitFor()
    assert.equal(await page.getByRole('button', { name: /^(Retry|Delete|Move|Cancel)$/ }).count(), 0)
    assert.equal(await page.getByRole('link', { name: 'New job' }).count(), 0)
    await go('/queues/emails.send')
    await page.locator('tbody tr').first().waitFor()
    assert.equal(await page.locator('main').getByRole('button', { name: /^(Pause|Clear|Drain)$/ }).count(), 0)
    assert.equal(await page.getByRole('checkbox').count(), 0)
    // Neither do keys and commands lead to what is refused in the end.
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.keyboard.press('n')
    await notice(page, 'New job: the key has not the scope produce')
    assert.match(page.url(), /queues\/emails.send$/)
    assert.equal(await page.getByRole('toolbar').count(), 0)
    await page.keyboard.press('Control+k')
    await page.getByRole('option', { name: 'Go to Queues' }).waitFor()
    assert.equal(await page.getByRole('option', { name: /New job|Webhooks|all jobs found|Pause/ }).count(), 0)
    await go('/new?queue=emails.send')
    await page.getByRole('alert').getByText('This key may not enqueue jobs.').waitFor()
  },

  async 'what a server does not have is said quietly'({ open }) {
    const { page, go } = await open()
    const gone = { status: 404, contentType: 'application/problem+json', body: '{"status":404,"code":"no_such_endpoint","detail":"There is nothing there."}' }
    for (const path of ['stats*', 'workers', 'errors*', 'jobs/search', 'batches*']) await page.route(`**/api/v1/${path}`, (route) => route.fulfill(gone))
    await go('/')
    await page.getByText('History is not available on this server.').first().waitFor()
    await page.getByText('emails.send').first().waitFor()
    for (const path of ['/errors', '/batches', '/workers', '/jobs']) {
      await go(path)
      await page.getByText('Not available on this server').waitFor()
    }
  },

  async 'a page asks seldom'({ open }) {
    const { page, go } = await open()
    await go('/')
    await page.getByText('emails.send').first().waitFor()
    await page.waitForTimeout(1000)
    let asked = 0
    page.on('request', (request) => request.url().includes('/api/') && asked++)
    await page.waitForTimeout(6000)
    assert.ok(asked <= 6 * 3, `${asked} requests in 6 s`)
    assert.ok(asked > 0)
  },

  async 'the server goes away and comes back'({ open, server, api, mock }) {
    const { page, go } = await open()
    await go('/queues')
    await page.getByText('emails.send').first().waitFor()
    await server.down()
    await page.getByRole('alert').getByText('The server is not answering').waitFor()
    await page.getByText('emails.send').first().waitFor()
    await server.up()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await api.post('/enqueue', { queue: 'ui.after', payload: {} })
    await page.getByText('ui.after').first().waitFor()
    await go('/queues/ui.after')
    await page.getByText('Live', { exact: true }).waitFor()
    if (!mock) await api.post('/queues/ui.after/pause')
    await api.post('/enqueue', { queue: 'ui.after', payload: {} })
    await page.getByRole('button', { name: /new job/ }).waitFor()
  },
}
