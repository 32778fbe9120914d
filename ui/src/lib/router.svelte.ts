// The address is the state: screen, filter, sort and page are all in it.
const BASE = '/ui'

class Router {
  path = $state('')
  query = $state(new URLSearchParams())

  constructor() {
    this.#read()
    addEventListener('popstate', () => this.#read())
    document.addEventListener('click', (event) => this.#click(event))
  }
  /** The path's parts, decoded: `queues`, `emails.send`; of one that cannot be decoded, what leads nowhere. */
  get parts(): string[] {
    try {
      return this.path.split('/').filter(Boolean).map(decodeURIComponent)
    } catch {
      return ['%']
    }
  }
  go(to: string, options: { replace?: boolean; keepScroll?: boolean } = {}) {
    const url = to.startsWith(BASE) ? to : BASE + to
    if (options.replace) history.replaceState(null, '', url)
    else history.pushState(null, '', url)
    const before = this.path
    this.#read()
    if (before !== this.path && !options.keepScroll) scrollTo(0, 0)
  }
  /** Changes parameters of the address and leaves the others. */
  set(changes: Record<string, string | null | undefined>, options: { replace?: boolean } = {}) {
    const query = new URLSearchParams(this.query)
    for (const [name, value] of Object.entries(changes))
      if (value) query.set(name, value)
      else query.delete(name)
    const text = query.toString()
    this.go(this.path + (text ? `?${text}` : ''), { ...options, keepScroll: true })
  }
  get(name: string): string {
    return this.query.get(name) ?? ''
  }
  #read() {
    let path = location.pathname
    if (path.startsWith(BASE)) path = path.slice(BASE.length)
    this.path = path || '/'
    this.query = new URLSearchParams(location.search)
  }
  #click(event: MouseEvent) {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = (event.target as Element).closest('a')
    if (!link || link.target || link.origin !== location.origin || !link.pathname.startsWith(BASE)) return
    event.preventDefault()
    this.go(link.pathname + link.search)
  }
}

export const router = new Router()

const at = encodeURIComponent
export const to = {
  overview: `${BASE}/`,
  queues: `${BASE}/queues`,
  queue: (name: string) => `${BASE}/queues/${at(name)}`,
  jobs: (filter: Record<string, string> = {}) => `${BASE}/jobs?${new URLSearchParams(filter)}`,
  job: (id: string) => `${BASE}/jobs/${at(id)}`,
  bulk: (id: string) => `${BASE}/bulk/${at(id)}`,
  schedule: (id: string) => `${BASE}/schedules/${at(id)}`,
  batch: (id: string) => `${BASE}/batches/${at(id)}`,
  webhook: (id: string) => `${BASE}/webhooks/${at(id)}`,
}
