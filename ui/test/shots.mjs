// Pictures of every screen: `node test/shots.mjs --url http://127.0.0.1:21300 --out shots [--only overview] [--theme dark] [--phone]`
import { mkdirSync } from 'node:fs'
import { chromium } from 'playwright-core'

const flag = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : process.argv[at + 1]
}
const url = flag('url', 'http://127.0.0.1:21300')
const out = flag('out', 'shots')
const only = flag('only', '').split(',').filter(Boolean)
const theme = flag('theme', 'light')
const phone = process.argv.includes('--phone')
const full = process.argv.includes('--full')
mkdirSync(out, { recursive: true })

const api = async (path, body) => (await fetch(`${url}/api/v1${path}`, body ? { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {})).json()
const pick = async (filter) => (await api('/jobs/search', { limit: 1, ...filter })).jobs?.[0]?.id
const [special, dead, pending] = await Promise.all([pick({ payload_contains: 'onerror' }), pick({ state: ['dead'] }), pick({ state: ['pending'], queue: 'sync.users' })])
const batch = (await api('/batches')).batches?.[0]?.id
const webhook = (await api('/webhooks')).webhooks?.[0]?.id
const schedule = (await api('/schedules')).schedules?.[0]?.id

const SCREENS = {
  overview: '/', queues: '/queues', queue: '/queues/emails.send', jobs: '/jobs?state=dead', job: `/jobs/${special}`, dead: `/jobs/${dead}`,
  pending: `/jobs/${pending}`, errors: '/errors', schedules: '/schedules', schedule: `/schedules/${schedule}`, 'new-schedule': '/schedules/new', batches: '/batches', batch: `/batches/${batch}`,
  groups: '/groups', bulk: '/bulk', workers: '/workers', cluster: '/cluster', events: '/events', new: '/new', keys: '/keys', webhooks: '/webhooks', webhook: `/webhooks/${webhook}`, nothing: '/nowhere',
}
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
const context = await browser.newContext({ viewport: phone ? { width: 390, height: 844 } : { width: 1360, height: 880 }, colorScheme: theme, timezoneId: 'UTC', ...(phone ? { isMobile: true, hasTouch: true } : {}) })
const page = await context.newPage()
page.on('console', (m) => ['error', 'warning'].includes(m.type()) && console.log(`${m.type()}: ${m.text()} (${page.url()})`))
page.on('pageerror', (e) => console.log(`page error: ${e.stack}`))
for (const [name, path] of Object.entries(SCREENS)) {
  if (only.length && !only.includes(name)) continue
  await page.goto(`${url}/ui${path}`)
  await page.waitForTimeout(name === 'events' ? 2500 : 1300)
  await page.screenshot({ path: `${out}/${name}${theme === 'dark' ? '-dark' : ''}${phone ? '-phone' : ''}.png`, fullPage: full })
}
await browser.close()
