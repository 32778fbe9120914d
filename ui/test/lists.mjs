// Lists of jobs: what is searched for, what is acted upon, what is told of new ones.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Server } from './server.mjs'

const dialog = (page) => page.locator('dialog[open]')
const heading = (page, text) => page.locator('h2', { hasText: text }).first().waitFor()
const search = (page) => page.getByRole('button', { name: 'Search', exact: true }).click()
const row = (page, id) => page.locator('tr', { has: page.locator(`a[href$="${id}"]`) })
const pill = (page) => page.locator('.pill')
const later = (queue, n) => ({ jobs: Array.from({ length: n }, (_, i) => ({ queue, payload: { n: i }, delay: '1h' })) })

/** Jobs of a queue that are dead of these errors. */
async function bury(api, queue, errors) {
  for (const error of errors) {
    await api.post('/enqueue', { queue, payload: {} })
    const job = await api.post('/fetch', { queues: [queue], worker_id: 'worker-lists', timeout: 5 })
    await api.post(`/fail/${job.job_id}`, { lease_id: job.lease_id, error, retry: false })
  }
}

export const lists = {
  async 'a filter that cannot be read means no jobs, not all'({ open, api, mock }) {
    if (mock) return
    const { page, go } = await open()
    await api.post('/enqueue/batch', later('ui.tags', 3))
    await go('/queues/ui.tags')
    await heading(page, '3 jobs')
    await page.getByLabel('Tags').fill('acme-corp')
    await search(page)
    await page.locator('.field', { hasText: 'Tags' }).getByText('name=value').waitFor()
    for (const path of ['/queues/ui.tags?tags=tenant', '/jobs?tags=a%3Db,tenant', '/jobs?attempt_min=abc', '/jobs?created_before=abc', '/jobs?has_errors=abc']) {
      await go(path)
      await page.locator('.field .bad').waitFor()
      await page.getByText('That did not work').waitFor()
      assert.equal(await page.locator('h2', { hasText: /\d job/ }).count(), 0)
      assert.equal(await page.getByLabel('Select this page').count(), 0)
      await page.keyboard.press('Control+k')
      await dialog(page).getByRole('combobox').fill('all jobs found')
      assert.equal(await dialog(page).getByRole('option', { name: /^(Retry|Cancel|Delete) all jobs found/ }).count(), 0)
    }
  },

  async 'a refused search leaves no rows of the one before'({ open, api, mock }) {
    if (mock) return
    const { page, go } = await open()
    await api.post('/enqueue/batch', later('ui.refused', 3))
    await go('/queues/ui.refused')
    await heading(page, '3 jobs')
    await page.getByLabel('jq filter').fill('.a ==')
    await search(page)
    await page.locator('.field .bad').waitFor()
    assert.equal(await page.locator('tbody tr').count(), 0)
    await page.getByRole('button', { name: 'Reset' }).click()
    await heading(page, '3 jobs')
    const slow = { status: 422, contentType: 'application/problem+json', body: '{"status":422,"code":"search_too_slow","detail":"The search took too long."}' }
    await page.route('**/api/v1/jobs/search', (route) => route.fulfill(slow))
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText('The search took too long.').waitFor()
    assert.equal(await page.locator('tbody tr').count(), 0)
  },

  async 'what was typed holds when a state is chosen'({ open, api }) {
    const { page, go } = await open()
    await api.post('/enqueue/batch', later('ui.typed', 2))
    await go('/jobs')
    const queue = page.getByLabel('Queue', { exact: true })
    await queue.fill('ui.typed')
    await page.getByRole('button', { name: /^scheduled/ }).click()
    await page.waitForURL(/queue=ui.typed/)
    assert.match(page.url(), /state=scheduled/)
    await heading(page, '2 jobs')
    await page.getByRole('button', { name: 'Reset' }).click()
    await page.waitForURL((url) => url.search === '')
    assert.equal(await queue.inputValue(), '')
    await queue.fill('nothing')
    await page.getByRole('button', { name: 'Reset' }).click()
    assert.equal(await queue.inputValue(), '')
  },

  async 'a kind of errors is retried as what it is'({ open, api, mock }) {
    if (mock) return
    const { page, go } = await open()
    await bury(api, 'ui.kinds', ['timeout after 3 s', 'timeout after 4 s', 'db: read timeout after 5 s on primary'])
    await bury(api, 'ui.names', Array.from({ length: 12 }, (_, n) => `can't let user "${'abcdefghijkl'[n]} somebody with a long name" in 'now or later'`))
    await go('/errors?queue=ui.kinds')
    await page.locator('tr', { hasText: 'timeout after # s' }).first().getByRole('button', { name: 'Retry' }).click()
    await dialog(page).getByRole('button', { name: 'Retry 2 jobs' }).waitFor()
    await go('/errors?queue=ui.names')
    await page.getByRole('button', { name: 'Retry' }).click()
    await dialog(page).getByRole('button', { name: 'Retry 12 jobs' }).waitFor()
    await dialog(page).locator('.chip', { hasText: 'can\'t let user' }).waitFor()
    // More than the server names, and others whose text has theirs in it.
    await bury(api, 'ui.alike', Array.from({ length: 14 }, (_, n) => (n < 2 ? `db: read timeout after ${n} s on primary` : `timeout after ${n} s`)))
    await go('/errors?queue=ui.alike')
    await page.locator('tbody tr').first().getByRole('button', { name: 'Retry' }).click()
    await dialog(page).getByRole('button', { name: 'Retry 12 jobs' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    const { jobs } = await api.post('/jobs/search', { queue: 'ui.alike', state: ['dead'] })
    assert.deepEqual(jobs.map((job) => job.last_error.slice(0, 3)), ['db:', 'db:'])
  },

  async 'a bulk query is frozen by the clock of the server'({ open, api, mock }) {
    if (mock) return
    const { page, go } = await open()
    await api.post('/enqueue/batch', later('ui.clock', 60))
    await page.clock.setSystemTime(Date.now() - 600_000)
    const asked = []
    page.on('request', (request) => request.url().endsWith('/jobs/bulk') && asked.push(request.postDataJSON().filter))
    for (const more of ['', '&created_before=2999-01-01T00:00:00Z']) {
      await go(`/queues/ui.clock?charts=off${more}`)
      await page.getByLabel('Select this page').check()
      await page.getByRole('button', { name: 'Select all 60' }).click()
      await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click()
      await dialog(page).getByRole('button', { name: 'Delete 60 jobs' }).waitFor()
      assert.ok(Math.abs(Date.parse(asked.at(-1).created_before) - Date.now()) < 30_000, JSON.stringify(asked))
    }
  },

  async 'a burst of events leaves no row behind and no job is called new'({ open, api, mock }) {
    if (mock) return
    const { page, go } = await open()
    await api.post('/enqueue/batch', later('ui.burst', 2000))
    await go('/queues/ui.burst?charts=off')
    await heading(page, '2,000 jobs')
    await page.getByText('Live', { exact: true }).waitFor()
    await api.post('/jobs/bulk', { filter: { queue: 'ui.burst' }, action: 'cancel' })
    await page.waitForFunction(() => [...document.querySelectorAll('tbody tr')].every((tr) => tr.textContent.includes('cancelled')))
    await page.waitForTimeout(2500)
    assert.equal(await pill(page).count(), 0)
    await api.post('/enqueue/batch', later('ui.burst', 1500))
    await page.getByRole('button', { name: '1,500 new jobs' }).waitFor()
    assert.equal(await page.locator('tbody tr', { hasText: 'cancelled' }).count(), 50)
  },

  async 'only jobs that fit are called new'({ open, api, mock }) {
    if (mock) return
    const { page, go } = await open()
    const { job_id } = await api.post('/enqueue', { queue: 'ui.fits', payload: {} })
    await api.post('/queues/ui.fits/pause')
    await go('/jobs?queue=ui.fit*&state=pending')
    await heading(page, '1 job')
    await page.getByText('Live', { exact: true }).waitFor()
    await api.post('/enqueue/batch', { jobs: [{ queue: 'ui.other', payload: {}, delay: '1h' }, { queue: 'ui.fits', payload: {}, delay: '1h' }] })
    await page.waitForTimeout(2500)
    assert.equal(await pill(page).count(), 0)
    await api.post('/enqueue', { queue: 'ui.fits', payload: {} })
    await page.getByRole('button', { name: /^1 new job/ }).waitFor()
    // A row shows where its job is now, and how urgent.
    await api.post('/jobs/bulk', { job_ids: [job_id], action: 'change_priority', priority: 'critical' })
    await row(page, job_id).getByText('critical').waitFor()
    await api.post(`/jobs/${job_id}/move`, { queue: 'ui.moved' })
    await row(page, job_id).getByText('ui.moved').waitFor()
    await go('/jobs?queue=ui.fell&state=dead')
    await page.getByText('No job fits').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await bury(api, 'ui.fell', ['it fell'])
    await page.getByRole('button', { name: /^1 new job/ }).click()
    await page.locator('tbody tr', { hasText: 'it fell' }).waitFor()
  },

  async 'pages are told as they are'({ open, api }) {
    const { page, go } = await open()
    await api.post('/enqueue/batch', later('ui.pages', 120))
    await go('/jobs?queue=ui.pages&page=7')
    await page.getByText('Page 1 of 3').waitFor()
    for (const n of [2, 3]) {
      await page.getByRole('button', { name: 'Next page' }).click()
      await page.getByText(`Page ${n} of 3`).waitFor()
    }
    await page.reload()
    await page.getByText('Page 3 of 3').waitFor()
    await page.getByRole('button', { name: 'Page before' }).click()
    await page.getByText('Page 1 of 3').waitFor()
  },

  async 'a list is found where it was left'({ open, api }) {
    const { page, go } = await open()
    await api.post('/enqueue/batch', later('ui.scroll', 60))
    await go('/jobs?queue=ui.scroll')
    await page.locator('tbody tr').nth(40).waitFor()
    await page.evaluate(() => scrollTo(0, 900))
    await page.locator('tbody a[href*="/jobs/job_"]').nth(25).click()
    await page.getByText('Why is it not running').waitFor()
    await page.goBack()
    await page.locator('tbody tr').nth(40).waitFor()
    await page.waitForFunction(() => scrollY > 800)
  },

  async 'a job that leaves for another queue is told on the page of the old one'({ open, api, mock }) {
    if (mock) return
    const { page, go } = await open()
    await api.post('/enqueue/batch', later('ui.leaves', 2))
    const { jobs } = await api.post('/jobs/search', { queue: 'ui.leaves' })
    await go('/queues/ui.leaves?charts=off')
    await heading(page, '2 jobs')
    await api.post(`/jobs/${jobs[0].id}/move`, { queue: 'ui.arrives' })
    const row = page.locator('tr', { has: page.locator(`a[title=${jobs[0].id}]`) })
    await row.getByRole('link', { name: 'moved' }).click()
    await page.waitForURL('**/ui/queues/ui.arrives')
    await heading(page, '1 job')
  },

  async 'a key for some queues acts on the jobs that were marked'({ open, binary, mock }) {
    if (mock) return
    const folder = mkdtempSync(join(tmpdir(), 'jobbie-ui-keys-'))
    const secret = (name) => `${name}-secret-of-the-browser-tests`
    writeFileSync(join(folder, 'keys'), `root:admin::${secret('root')}\nmail:manage:mail.*:${secret('mail')}\n`, { mode: 0o600 })
    const server = await Server.start({ binary, flags: ['--auth-keys-file', join(folder, 'keys')] })
    try {
      const root = (path, body) => fetch(`${server.url}/api/v1${path}`, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', authorization: `Bearer ${secret('root')}` } }).then((answer) => answer.json())
      await root('/enqueue/batch', later('mail.ui', 3))
      const { jobs } = await root('/jobs/search', { queue: 'mail.ui' })
      const { page } = await open()
      await page.addInitScript((key) => sessionStorage.setItem('jobbie.key', key), secret('mail'))
      await page.goto(`${server.url}/ui/queues/mail.ui?charts=off`)
      await page.getByLabel(`Select ${jobs[0].id}`).check()
      await page.getByLabel(`Select ${jobs[2].id}`).check()
      await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click()
      await dialog(page).getByText('Preview (first 2)').waitFor()
      await dialog(page).getByRole('button', { name: 'Delete 2 jobs' }).click()
      await page.locator('.notices').getByText('2 jobs deleted').waitFor()
      assert.deepEqual((await root('/jobs/search', { queue: 'mail.ui' })).jobs.map((job) => job.id), [jobs[1].id])
      // Rows are read again with such a key as well.
      await heading(page, '1 job')
      await root(`/jobs/${jobs[1].id}/move`, { queue: 'other' })
      await page.locator('tbody').getByText('gone').waitFor()
      await page.goto(`${server.url}/ui/jobs`)
      await page.getByText('it is for mail.* alone').waitFor()
    } finally {
      await server.end()
      rmSync(folder, { recursive: true })
    }
  },
}
