// Texts that try to be more than text, in everything that a client may name or say, on every screen that shows it.
// A script that runs, an element that came out of a text, or a complaint of the browser is a failure.
import assert from 'node:assert/strict'

const LONG = 'verylongword'.repeat(60)
const TEXTS = [
  '<img src=x onerror="window.hit=1">',
  '"><script>window.hit=2</script>',
  "'><svg onload=window.hit=3>",
  '</script><script>window.hit=4</script>',
  '</textarea></title></style><iframe srcdoc="<script>parent.hit=5</script>">',
  '{{constructor.constructor("window.hit=6")()}}${window.hit=7}{@html "<img src=x onerror=window.hit=8>"}',
  'javascript:window.hit=9',
  '<a href="javascript:window.hit=10" onmouseover="window.hit=11">click</a>',
  '\u202Egnp.live\u202C \u200B\u200F\u2066zero\u2069 \u009B31m',
  '--><!--<base href=//evil.example>',
]
const ALL = TEXTS.join(' ')
/** The answer, or nothing where the server refuses the text. */
const tried = (asked) => asked.catch((error) => (/: 4\d\d /.test(error.message) ? null : Promise.reject(error)))

/** One of each thing that has texts in it; gives the paths of the screens that show them. */
async function plant(api) {
  const queue = 'hostile.queue'
  for (const name of TEXTS) assert.equal(await tried(api.post('/enqueue', { queue: name })), null, 'a queue has no such name')
  const made = { refused: [], paths: ['/', '/queues', `/queues/${queue}`] }
  const jobs = []
  for (const text of TEXTS) {
    const job = {
      queue,
      payload: { [text]: text, list: [text, { deep: text }], url: 'javascript:window.hit=20', long: LONG },
      tags: { tag: text },
      group: text,
      unique_key: text,
      max_retries: 1,
    }
    const sent = (await tried(api.post('/enqueue', job))) ?? (await tried(api.post('/enqueue', { ...job, group: undefined, tags: { tag: 'plain' } })))
    if (sent) jobs.push(sent.job_id)
    else made.refused.push(text)
  }
  assert.ok(jobs.length >= TEXTS.length - 1, `refused: ${made.refused}`)
  // One that is done, one that failed, one that runs.
  for (const [n, text] of TEXTS.entries()) {
    const worker = { worker_id: text, hostname: text }
    const job = (await tried(api.post('/fetch', { queues: [queue], lease_duration: 3600, ...worker }))) ?? (await api.post('/fetch', { queues: [queue], lease_duration: 3600, worker_id: `w${n}` }))
    if (!job) break
    await api.post('/heartbeat', { jobs: { [job.job_id]: { lease_id: job.lease_id, progress: { current: 1, total: 3, message: text }, checkpoint: { [text]: text } } } })
    await api.post(`/jobs/${job.job_id}/logs`, { lines: [{ message: text }, { message: ALL, level: 'error' }, { message: LONG }] })
    if (n % 3 === 0) await api.post(`/ack/${job.job_id}`, { lease_id: job.lease_id, result: { [text]: ALL } })
    else if (n % 3 === 1) await api.post(`/fail/${job.job_id}`, { lease_id: job.lease_id, error: `${text} ${LONG}`, backtrace: `${ALL}\n${text}`, retry: false })
    made.paths.push(`/jobs/${job.job_id}`)
  }
  for (const text of TEXTS) {
    const worker = { worker_id: `${text}!`, hostname: text, concurrency: 3, queues: ['hostile.*'] }
    if (!(await tried(api.post('/workers', { ...worker, tags: [text], roles: [text] })))) await tried(api.post('/workers', worker))
    const schedule = await tried(api.post('/schedules', { name: text, queue, cron: '0 9 * * *', payload: { [text]: text }, tags: { tag: text } }))
    if (schedule) made.paths.push(`/schedules/${schedule.id}`)
    await tried(api.post('/keys', { name: text, scopes: ['produce'], queues: ['hostile.*'] }))
    const hook = await tried(api.post('/webhooks', { url: `https://hooks.example.com/${encodeURIComponent(text)}?q=${encodeURIComponent(ALL)}`, events: ['dead'], queue: 'hostile.*', secret: 'of the test' }))
    if (hook) made.paths.push(`/webhooks/${hook.id}`)
    await tried(api.post('/queues/hostile.queue/concurrency', { max: 5, key: text }))
  }
  assert.equal(await tried(api.post('/webhooks', { url: 'javascript:window.hit=30', events: ['dead'], secret: 'of the test' })), null, 'a webhook has no such address')
  // Tried at once, and refused by the name, which the list of deliveries then shows.
  const local = await api.post('/webhooks', { url: 'http://127.0.0.1:1/%3Cimg%20src=x%20onerror=alert(1)%3E', events: ['dead'], queue: 'hostile.*', secret: 'of the test' })
  await api.post(`/webhooks/${local.id}/test`)
  made.paths.push(`/webhooks/${local.id}`)
  const batch = await api.post('/enqueue/batch', { jobs: TEXTS.map((text) => ({ queue, payload: { [text]: text }, delay: '1h' })), batch: { callback_queue: 'hostile.done', callback_payload: { [ALL]: ALL } } })
  made.paths.push(`/batches/${batch.batch_id}`)
  // More than one answer's worth, so that it becomes an operation with a page of its own.
  for (let n = 0; n < 3; n++) await api.post('/enqueue/batch', { jobs: Array.from({ length: 4000 }, () => ({ queue: 'hostile.many', payload: { t: TEXTS[0] }, delay: '1h' })) })
  const bulk = await api.post('/jobs/bulk', { action: 'cancel', filter: { queue: 'hostile.many', payload_contains: TEXTS[0], state: ['scheduled'] } })
  made.paths.push(`/bulk/${bulk.bulk_operation_id}`)
  return made
}

/** What comes in by the address of a page. */
function reflected() {
  const out = []
  for (const text of TEXTS) {
    const word = encodeURIComponent(text)
    out.push(`/jobs?payload_contains=${word}`, `/jobs?queue=${word}&payload_jq=${word}`, `/jobs/${word}`, `/queues/${word}`, `/errors?queue=${word}`)
  }
  return [...out, `/no/such/${encodeURIComponent(ALL)}`, `/schedules/${encodeURIComponent(ALL)}`, `/webhooks/${encodeURIComponent(TEXTS[0])}`, '/#javascript:window.hit=40']
}

/** A window that notes everything a text may have brought about. */
async function watched(open, options) {
  const window = await open(options)
  const seen = []
  await window.context.addInitScript(() => {
    globalThis.violations = []
    document.addEventListener('securitypolicyviolation', (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`))
  })
  window.page.on('dialog', (dialog) => {
    seen.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  window.page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.pathname.endsWith('/x') || url.hostname !== '127.0.0.1') seen.push(`request: ${request.url()}`)
  })
  window.context.on('page', () => seen.push('a window was opened'))
  return { ...window, seen }
}

const INJECTED = 'img[src="x"], iframe, object, embed, base, svg[onload], script:not([src]), [onerror], [onload], [onclick], [onmouseover], [srcdoc], a[href^="javascript:" i], form[action^="javascript:" i]'

async function look({ page, seen }, where) {
  const found = await page.evaluate((selector) => ({
    hit: globalThis.hit,
    violations: globalThis.violations,
    injected: [...document.querySelectorAll(selector), ...[...document.links].filter((link) => link.host !== location.host)].map((element) => element.outerHTML.slice(0, 200)),
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    widest: [...document.querySelectorAll('main *')].filter((element) => element.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map((element) => element.outerHTML.slice(0, 120)),
  }), INJECTED)
  assert.equal(found.hit, undefined, `a script ran on ${where}`)
  assert.deepEqual(found.violations, [], `the policy was needed on ${where}`)
  assert.deepEqual(found.injected, [], `an element came out of a text on ${where}`)
  assert.deepEqual(seen, [], `something happened on ${where}`)
  assert.ok(found.wide <= 1, `${where} is ${found.wide} px wider than the window: ${found.widest.join(' | ')}`)
}

export const hostile = {
  async 'hostile texts stay texts on every screen'({ open, api, shots }) {
    const made = await plant(api)
    const window = await watched(open)
    const { page, go } = window
    const screens = [...made.paths, '/jobs', '/jobs?queue=hostile.queue', '/jobs?state=dead', '/errors', '/schedules', '/batches', '/groups', '/bulk', '/workers', '/cluster', '/webhooks', '/keys', '/events', '/new', '/schedules/new']
    let shown = 0
    for (const [n, path] of screens.entries()) {
      await go(path)
      await page.locator('h1').first().waitFor()
      await page.waitForTimeout(300)
      await look(window, path)
      if ((await page.locator('body').innerText()).includes('<img src=x')) shown++
      if (shots) await page.screenshot({ path: `${shots}/hostile-${n}-${path.split('/')[1]?.split('?')[0] || 'overview'}.png` })
    }
    assert.ok(shown >= 8, `the texts are on ${shown} screens only`)
    // Texts of jobs that come while one looks.
    await go('/events')
    await page.getByText(/ seen, /).waitFor() // the stream is open: what happened before is not shown
    for (const text of TEXTS) await tried(api.post('/enqueue', { queue: 'hostile.live', payload: { [text]: text }, unique_key: `${text}.`, group: text, tags: { tag: text } }))
    await page.getByText('hostile.live').first().waitFor()
    await look(window, 'live events')
  },

  async 'hostile texts on a phone'({ open, api }) {
    const window = await watched(open, { phone: true })
    const { jobs } = await api.post('/jobs/search', { queue: 'hostile.queue', limit: 12 })
    for (const path of ['/queues/hostile.queue', '/errors', '/workers', '/schedules', '/groups', '/webhooks', '/keys', ...jobs.map((job) => `/jobs/${job.id}`)]) {
      await window.go(path)
      await window.page.locator('h1').first().waitFor()
      await window.page.waitForTimeout(200)
      await look(window, `${path} on a phone`)
    }
  },

  async 'hostile addresses of pages'({ open }) {
    const window = await watched(open)
    for (const path of reflected()) {
      await window.go(path)
      await window.page.locator('main').first().waitFor()
      await window.page.waitForTimeout(200)
      await look(window, path)
    }
  },

  async 'hostile texts in dialogs and menus'({ open, api, shots }) {
    const window = await watched(open)
    const { page, go } = window
    const dialog = page.locator('dialog[open]')
    const { jobs } = await api.post('/jobs/search', { queue: 'hostile.queue', state: ['dead'], limit: 1 })
    await go(`/jobs/${jobs[0].id}`)
    await page.getByRole('button', { name: 'More' }).first().click()
    await look(window, 'menu of a job')
    await page.getByRole('menuitem', { name: 'Retry with another payload' }).click()
    await dialog.locator('textarea').waitFor()
    await look(window, 'dialog with the payload')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Text' }).first().click()
    await look(window, 'payload as text')
    if (shots) await page.screenshot({ path: `${shots}/hostile-dead-job.png` })
    await go('/errors')
    await page.locator('tr', { hasText: '<script>' }).getByRole('button', { name: 'Delete' }).first().click()
    await dialog.waitFor()
    await look(window, 'dialog of an error group')
    if (shots) await page.screenshot({ path: `${shots}/hostile-errors.png` })
    await page.keyboard.press('Escape')
    await go('/')
    await page.locator('h1').first().waitFor()
    await page.keyboard.press('Control+k')
    await dialog.getByRole('combobox').fill(TEXTS[0])
    await look(window, 'palette')
  },
}
