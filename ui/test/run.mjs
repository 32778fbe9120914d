// The browser tests: every screen and every main action in headless Chromium.
//
//   node ui/test/run.mjs --binary build/release/jobbie   starts the server with a demo workload
//   node ui/test/run.mjs --mock                          the stand-in of the API instead
//   --only A,B     tests whose name contains A or B          --shots DIR   keeps a picture of each screen
//   --dist DIR     this build of the pages in place of the binary's own
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { Server } from './server.mjs'
import { Api, fill, work } from './workload.mjs'
import { admin } from './admin.mjs'
import { check, tests } from './cases.mjs'
import { forms } from './forms.mjs'
import { hostile } from './hostile.mjs'
import { lists } from './lists.mjs'
import { nodes } from './nodes.mjs'
import { screens } from './screens.mjs'
import { tabs } from './tabs.mjs'

const flag = (name, otherwise = '') => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : (process.argv[at + 1] ?? '')
}
const mock = process.argv.includes('--mock')
const binary = flag('binary')
const only = flag('only')
const shots = flag('shots')
const dist = flag('dist')
const executablePath = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => path && existsSync(path))

function fail(message) {
  console.error(message)
  process.exit(1)
}
if (!mock && !binary) fail('Say what to test: --binary PATH or --mock.')
if (!executablePath) fail('There is no Chromium: apt-get install chromium, or set CHROMIUM to one.')
if (shots) mkdirSync(shots, { recursive: true })

const server = await Server.start({ mock, binary })
const api = new Api(server.url)
const pick = async (filter) => (await api.post('/jobs/search', { limit: 1, ...filter })).jobs[0]?.id
const ids = mock
  ? {
      special: await pick({ payload_contains: 'onerror' }),
      dead: await pick({ state: ['dead'] }),
      pending: await pick({ state: ['pending'], queue: 'sync.users' }),
      batch: (await api.post('/jobs/search', { payload_contains: 'onerror', limit: 1 })).jobs[0].batch_id,
      schedule: (await api.get('/schedules')).schedules[0].id,
      webhook: (await api.get('/webhooks')).webhooks[0].id,
    }
  : await fill(api)
const stopWork = mock ? async () => {} : work(api)

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A window with what the tests need; its complaints are collected. */
async function open({ theme = 'light', phone = false } = {}) {
  const context = await browser.newContext({
    viewport: phone ? { width: 390, height: 844 } : { width: 1360, height: 880 },
    colorScheme: theme,
    timezoneId: 'UTC',
    locale: 'en-GB',
    ...(phone ? { isMobile: true, hasTouch: true } : {}),
  })
  context.setDefaultTimeout(15_000)
  if (dist)
    await context.route('**/ui/**', (route) => {
      const file = join(dist, new URL(route.request().url()).pathname.slice('/ui/'.length))
      return route.fulfill({ path: statSync(file, { throwIfNoEntry: false })?.isFile() ? file : join(dist, 'index.html') })
    })
  const page = await context.newPage()
  const complaints = []
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('console', (message) => {
    // An answer that is not 2xx is shown by the screen; the browser's own line about it is no fault.
    if (message.type() === 'error' && !/^Failed to load resource/.test(message.text())) complaints.push(message.text())
  })
  return { page, context, complaints, go: (path) => page.goto(`${server.url}/ui${path}`) }
}

let passed = 0
const failed = []
for (const [name, run] of Object.entries({ ...tests, ...admin, ...tabs, ...(mock ? {} : { ...lists, ...forms, ...screens, ...nodes, ...hostile }) })) {
  if (only && !only.split(',').some((part) => name.includes(part))) continue
  const begun = Date.now()
  const opened = []
  try {
    await run({ server, api, binary, ids, mock, shots, axe, check, open: async (options) => (opened.push(await open(options)), opened.at(-1)) })
    for (const { complaints } of opened) if (complaints.length) throw new Error(`the browser complains: ${complaints.slice(0, 5).join(' | ')}`)
    passed++
    console.log(`ok    ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`)
  } catch (error) {
    failed.push(name)
    console.log(`FAIL  ${name}\n      ${String(error?.stack ?? error).split('\n').slice(0, 12).join('\n      ')}`)
    if (shots && opened[0]) await opened[0].page.screenshot({ path: `${shots}/FAIL-${name.replaceAll(/\W+/g, '-')}.png` }).catch(() => {})
  }
  for (const { context } of opened) await context.close()
}
await stopWork()
await browser.close()
await server.end()
console.log(`${passed} passed, ${failed.length} failed`)
process.exit(failed.length || passed === 0 ? 1 : 0)
