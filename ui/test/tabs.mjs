// Several tabs, one stream of events.
import assert from 'node:assert/strict'
import { Proxy } from './proxy.mjs'

/** Opens two tabs on the events of a queue, closes the first, and expects the second to have seen it all. */
async function share({ open, server, api }, queue, prepare) {
  const proxy = await Proxy.before(server.url)
  try {
    const { page: first, context } = await open()
    if (prepare) await context.addInitScript(prepare)
    const visit = async (page) => {
      await page.goto(`${proxy.url}/ui/events?queue=${queue}`)
      await page.getByText(/ seen, /).waitFor()
    }
    const shows = async (page, ids) => {
      for (const id of ids) await page.locator(`a[href$="${id}"]`).first().waitFor()
    }
    const add = async (n) => (await api.post('/enqueue/batch', { jobs: Array.from({ length: n }, () => ({ queue, payload: {}, delay: '1h' })) })).job_ids
    await visit(first)
    const second = await context.newPage()
    await visit(second)

    const before = await add(3)
    await Promise.all([shows(first, before), shows(second, before)])
    assert.equal(proxy.open, 1, 'both tabs are served by one stream')
    assert.equal(proxy.most, 1, 'there was never more than one')

    // Events come while the first tab goes, and nobody may look at the stream in between.
    const during = []
    const closing = first.close()
    for (let n = 0; n < 10; n++) during.push(...(await add(1)))
    await closing
    during.push(...(await add(3)))
    await shows(second, [...before, ...during])
    assert.equal(await second.locator('tbody tr').count(), before.length + during.length, 'each event once')
    assert.equal(proxy.open, 1, 'the other tab goes on')
    return proxy
  } finally {
    proxy.end()
  }
}

export const tabs = {
  async 'two tabs share one stream, in a shared worker'(t) {
    const proxy = await share(t, 'ui.tabs.worker')
    assert.equal(proxy.begun, 1, 'the worker outlives the tab that began it')
  },

  async 'two tabs share one stream without a shared worker, and it is handed over'(t) {
    const proxy = await share(t, 'ui.tabs.lock', () => delete globalThis.SharedWorker)
    assert.equal(proxy.begun, 2, 'the second tab began a stream when the first had gone')
    assert.notEqual(proxy.places[1], '', 'it went on where the first had been')
  },
}
