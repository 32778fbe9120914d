// What screens do at their edges: unknown keys, strange addresses, long names, long lists.
import assert from 'node:assert/strict'

const dialog = (page) => page.locator('dialog[open]')
const tooWide = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
const delayed = (queue, n) => ({ jobs: Array.from({ length: n }, () => ({ queue, payload: {}, delay: '1h' })) })

export const screens = {
  async 'a key the server does not know is said, and later is later'({ open }) {
    const { page, go } = await open()
    await page.route('**/api/v1/**', (route) =>
      route.request().headers().authorization === 'Bearer right' ? route.continue() : route.fulfill({ status: 401, contentType: 'application/problem+json', body: '{"status":401,"code":"unauthorized","detail":"A key is needed."}' }),
    )
    await go('/queues')
    await dialog(page).getByText('This server wants an API key').waitFor()
    assert.equal(await dialog(page).getByRole('alert').count(), 0)
    await dialog(page).getByRole('button', { name: 'Later' }).click()
    await page.waitForTimeout(5500)
    assert.equal(await dialog(page).count(), 0)
    await go('/keys')
    await dialog(page).getByLabel('API key').fill('wrong')
    await dialog(page).getByRole('button', { name: 'Use this key' }).click()
    await dialog(page).getByRole('alert').getByText('does not know this key').waitFor()
    assert.equal(await dialog(page).getByLabel('API key').inputValue(), 'wrong')
    await dialog(page).getByLabel('API key').fill('right')
    await page.keyboard.press('Enter')
    await dialog(page).waitFor({ state: 'detached' })
    await page.getByText('✓ produce').waitFor()
    await page.getByRole('button', { name: 'Forget the key' }).click()
    await dialog(page).getByText('This server wants an API key').waitFor()
    await page.getByText('✕ produce').waitFor()
    assert.equal(await page.locator('main table').count(), 0)
  },

  async 'an address that cannot be read leads nowhere'({ open, axe, check }) {
    const { page, go } = await open()
    await go('/queues/%E0%A4%A')
    await page.locator('h1').getByText('There is nothing here').waitFor()
    await check(page, axe, 'nothing here')
  },

  async 'the number to type stays while jobs arrive'({ open, api, mock }) {
    if (mock) return
    const { page, go } = await open()
    await api.post('/enqueue/batch', delayed('ui.clear', 1100))
    await go('/queues/ui.clear?charts=off')
    await page.getByRole('button', { name: 'Clear' }).click()
    await dialog(page).getByText('Type 1,100 to go on').waitFor()
    await api.post('/enqueue/batch', delayed('ui.clear', 5))
    await page.locator('.figures').getByText('1,105').waitFor()
    await dialog(page).getByRole('textbox').fill('1100')
    await dialog(page).getByRole('button', { name: 'Delete 1,100 jobs' }).click()
    await page.locator('.notices').getByText('jobs deleted').waitFor()
  },

  async 'lists of queues are read to their end'({ open, api }) {
    const { page, go } = await open()
    const [one] = (await api.get('/queues')).queues
    await page.route(/\/api\/v1\/queues(\?.*)?$/, (route) => {
      const from = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0)
      const queues = Array.from({ length: 500 }, (_, n) => ({ ...one, name: `many.${from + n}` }))
      return route.fulfill({ json: { queues, cursor: from < 1000 ? String(from + 500) : null, has_more: from < 1000 } })
    })
    await go('/queues')
    await page.getByText('1,500 queues').waitFor()
    await page.getByText('1,000 more').waitFor()
    await page.getByLabel('Filter by name').fill('many.1499')
    await page.getByRole('link', { name: 'many.1499' }).waitFor()
    await page.getByLabel('Filter by name').fill('')
    await page.evaluate(() => document.activeElement.blur())
    for (let n = 0; n < 30; n++) await page.keyboard.press('j')
    await page.waitForFunction(() => {
      const { top, bottom } = document.querySelector('tr.at').getBoundingClientRect()
      return top > 0 && bottom <= innerHeight
    })
  },

  async 'long names and odd rows keep to the page'({ open, api, shots }) {
    const long = 'a_very_long_name_'.repeat(12)
    const { job_id } = await api.post('/enqueue', { queue: `ui.${long.slice(0, 100)}`, payload: {}, tags: { [long.slice(0, 60)]: long }, group: `g-${long.slice(0, 90)}`, delay: '1h' })
    for (const phone of [false, true]) {
      const { page, go } = await open({ phone })
      if (!phone) await page.setViewportSize({ width: 1024, height: 800 })
      for (const path of [`/jobs/${job_id}`, '/', '/queues', '/groups', '/errors']) {
        await go(path)
        await page.getByText('a_very_long').first().waitFor({ state: 'attached' })
        await page.waitForTimeout(250)
        assert.ok((await tooWide(page)) <= 1, `${path} is too wide`)
        if (shots) await page.screenshot({ path: `${shots}/long${path.split('/')[1]}${phone ? '-phone' : ''}.png` })
      }
      await go('/')
      const colours = await page.locator('.figures').evaluate((e) => [e, e.firstElementChild].map((x) => getComputedStyle(x).backgroundColor))
      assert.equal(colours[0], colours[1])
      await go('/groups')
      const row = page.locator('tr', { hasText: 'a_very_long' })
      for (const name of ['Pause', 'Retry failed', 'Cancel']) {
        const box = await row.getByRole('button', { name }).boundingBox()
        assert.ok(box.x + box.width <= page.viewportSize().width, `${name} is cut off`)
      }
    }
    await api.post(`/jobs/${job_id}/cancel`)
  },

  async 'a menu gives the focus back, and goes when it is left'({ open }) {
    const { page, go } = await open()
    await go('/queues/emails.send?charts=off')
    const more = page.locator('.head').getByRole('button', { name: 'More' })
    await more.click()
    await page.getByRole('menuitem', { name: 'Settings' }).click()
    await dialog(page).waitFor()
    await page.keyboard.press('Escape')
    await dialog(page).waitFor({ state: 'detached' })
    assert.equal(await more.evaluate((e) => e === document.activeElement), true)
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem').first().waitFor()
    await page.keyboard.press('Shift+Tab')
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    await dialog(page).getByRole('combobox').fill('clear the queue')
    await page.keyboard.press('Enter')
    await dialog(page).getByText('Clear emails.send').waitFor()
  },

  async 'charts draw their curves, and tell what the pointer is at'({ open }) {
    const { page, go } = await open()
    await go('/')
    const chart = page.locator('.chart').first()
    assert.equal(await page.locator('.side .brand rect').last().evaluate((bar) => getComputedStyle(bar).fill), 'rgb(44, 155, 107)')
    const legend = page.locator('.legend').first()
    await chart.locator('path.c1').waitFor({ state: 'attached' })
    assert.match(await chart.locator('path.c0').getAttribute('d'), /^M56.0 [\d.]+L/)
    assert.equal(await chart.locator('circle').count(), 0)
    const latest = await legend.locator('span').last().textContent()
    await chart.hover({ position: { x: 60, y: 90 } })
    await chart.locator('circle.c2').waitFor()
    assert.notEqual(await legend.locator('span').last().textContent(), latest)
    await page.mouse.move(5, 5)
    await chart.locator('circle').first().waitFor({ state: 'detached' })
    // Whole hours are whole where the person is.
    await go('/?range=24h&zone=Asia/Kolkata')
    const hours = chart.locator('text[text-anchor=middle]')
    await hours.first().waitFor()
    for (const text of await hours.allTextContents()) assert.match(text, /^\d\d:00$/)
    // The chart is as wide as its place.
    await page.setViewportSize({ width: 800, height: 800 })
    await page.waitForFunction(() => {
      const chart = document.querySelector('.chart')
      return Math.abs(Number(/h([\d.]+)/.exec(chart.querySelector('path').getAttribute('d'))[1]) + 72 - chart.clientWidth) < 1
    })
  },

  async 'each attempt has its start and its length, and days are told apart'({ open, ids, mock }) {
    if (mock) return
    const { page, go } = await open()
    const now = Date.now()
    const at = (ago) => new Date(now - ago).toISOString()
    const attempt = (attempt, ago, duration_ms, outcome, error = null) => ({ attempt, started_at: at(ago), ended_at: duration_ms && at(ago - duration_ms), duration_ms, outcome, error, worker_id: 'worker-1' })
    let attempts = [attempt(1, 20_000, 4200, 'failed', 'SMTP timeout'), attempt(2, 5000, null, 'running')]
    let timeline = [{ at: at(21_000), event: 'enqueued' }, { at: at(5000), event: 'started', attempt: 2, worker_id: 'worker-1' }]
    await page.clock.setSystemTime(now)
    await page.route(`**/api/v1/jobs/${ids.special}`, async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: { ...(await answer.json()), attempts, timeline } })
    })
    const rows = page.locator('section', { has: page.getByText('Attempt history') }).locator('tbody tr')
    const cells = async (n) => (await rows.nth(n).locator('td').allTextContents()).map((text) => text.trim())
    await go(`/jobs/${ids.special}`)
    await rows.nth(1).waitFor()
    if (new Date(now - 30_000).getUTCDate() === new Date(now).getUTCDate()) {
      assert.deepEqual(await cells(0), ['1', at(20_000).slice(11, 19), '4.2 s', 'SMTP timeout', 'worker-1'])
      assert.equal(await page.locator('.line li').count(), 2)
    }
    assert.equal((await cells(1))[3], 'running')
    attempts = [attempt(1, 90_000_000, 90_000, 'failed', 'SMTP timeout'), attempt(2, 5000, 40, 'cancelled')]
    timeline[0].at = at(90_000_000)
    await go(`/jobs/${ids.special}`)
    await rows.nth(1).waitFor()
    assert.deepEqual((await cells(0)).slice(0, 3), ['1', at(90_000_000).slice(0, 19).replace('T', ' '), '1 m 30 s'])
    assert.deepEqual((await cells(1)).slice(1, 4), [at(5000).slice(0, 19).replace('T', ' '), '40 ms', 'cancelled'])
    assert.deepEqual(await page.locator('.line li.faint').allTextContents(), [at(90_000_000).slice(0, 10), at(5000).slice(0, 10)])
  },

  async 'tables fit, whatever things are called'({ open, api, mock }) {
    if (mock) return
    const long = 'a-name-that-goes-on-for-the-nightly-reconciliation-of-everything-with-everything'
    await api.post('/schedules', { name: long, queue: 'ui.fit', cron: '0 0 29 2 *', timezone: 'America/Argentina/ComodRivadavia', payload: {} }).catch(() => {})
    await api.post('/enqueue', { queue: long, payload: {} })
    await api.post('/fetch', { queues: [long], worker_id: `worker-${long}`, hostname: `ip-10-0-12-34.${long}.internal`, lease_duration: 60 })
    await api.post(`/queues/${long}/pause`)
    for (const width of [1280, 390]) {
      const { page, go } = await open({ phone: width === 390 })
      await page.setViewportSize({ width, height: 844 })
      for (const path of ['/', '/queues', '/workers', '/schedules', '/keys', '/events', '/batches', '/jobs', '/errors']) {
        await go(path)
        await page.locator('tbody tr').first().waitFor()
        await page.waitForTimeout(300)
        const over = await page.evaluate(() => [...document.querySelectorAll('.scroll')].map((e) => e.scrollWidth - e.clientWidth))
        assert.ok(over.every((n) => n <= 1), `${path} at ${width}: a table is ${over} px too wide`)
      }
      await go('/errors')
      await page.locator('select.plain option', { hasText: long }).waitFor({ state: 'attached' })
      const [row, select] = await Promise.all([page.locator('.head .row').boundingBox(), page.locator('select.plain').boundingBox()])
      assert.ok(width === 390 || row.width - select.width < 1, 'the choice of a queue is at the edge')
      await go('/queues')
      await page.locator('tr', { hasText: long }).getByText('paused').waitFor()
      // Only some say how many jobs they take: then nobody knows how busy they are.
      await go('/workers')
      await page.getByText(`worker-${long}`).first().waitFor()
      assert.equal(await page.getByText('% busy').count(), 0)
    }
    await api.ask('DELETE', `/queues/${long}?confirm=true`)
  },

  async 'what is on a screen stays where it is'({ open, ids, mock }) {
    if (mock) return
    for (const phone of [false, true]) {
      const { page, go } = await open({ phone })
      await page.addInitScript(() => {
        globalThis.moved = 0
        new PerformanceObserver((list) => list.getEntries().forEach((entry) => (globalThis.moved += entry.value))).observe({ type: 'layout-shift', buffered: true })
      })
      for (const path of ['/', '/queues/emails.send', '/jobs', `/jobs/${ids.pending}`]) {
        await go(path)
        await page.locator('main .panel').first().waitFor()
        // Charts, and jobs that are new meanwhile, come within that time.
        await page.waitForTimeout(2500)
        const moved = await page.evaluate(() => globalThis.moved)
        assert.ok(moved < 0.08, `${path} moves by ${moved}`)
      }
    }
  },
}
