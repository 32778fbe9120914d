// One stream of events for all tabs. It runs in a shared worker where the browser has those, else in
// one of the tabs. It asks the server for no more than the open screens want, and hands events over in
// parcels a few times a second, so that a busy server does not make a busy browser.

export interface Wish {
  types?: string[]
  queue?: string
  job?: string
}
export interface Event {
  id: string
  type: string
  job_id: string | null
  queue: string | null
  at: string
  attempt?: number
  [more: string]: unknown
}
export interface Parcel {
  events: Event[]
  /** How many more there were than fit into a parcel. */
  left_out: number
}
export type ToTab = { kind: 'events'; parcel: Parcel } | { kind: 'live'; live: boolean; missing: boolean } | { kind: 'reset' }
export type FromTab = { kind: 'wish'; wishes: Wish[]; key: string } | { kind: 'bye' } | { kind: 'alive' }

const PARCEL_MS = 250
const PARCEL_EVENTS = 300
const SILENCE_MS = 45_000

interface Tab {
  wishes: Wish[]
  send: (message: ToTab) => void
  waiting: Event[]
  left_out: number
}

export function wants(wish: Wish, event: Event): boolean {
  if (wish.types && !wish.types.includes(event.type)) return false
  if (wish.queue && wish.queue !== event.queue) return false
  return !wish.job || wish.job === event.job_id
}

export class Stream {
  #tabs = new Map<unknown, Tab>()
  #key = ''
  #asked = ''
  #last: string
  #abort: AbortController | null = null
  #live = false
  #missing = false
  #wait = 500
  #flush: ReturnType<typeof setTimeout> | undefined
  #silence: ReturnType<typeof setTimeout> | undefined

  /** It goes on behind the event `last`. `handed` is told up to where the tabs have got everything. */
  constructor(
    last = '',
    readonly handed: (last: string) => void = () => {},
  ) {
    this.#last = last
  }
  join(tab: unknown, send: (message: ToTab) => void) {
    if (this.#tabs.has(tab)) return
    this.#tabs.set(tab, { wishes: [], send, waiting: [], left_out: 0 })
    send({ kind: 'live', live: this.#live, missing: this.#missing })
    this.#flush ??= setTimeout(() => this.#hand(), PARCEL_MS)
  }
  leave(tab: unknown) {
    this.#tabs.delete(tab)
    this.#restart()
  }
  wish(tab: unknown, wishes: Wish[], key: string) {
    const known = this.#tabs.get(tab)
    if (!known) return
    known.wishes = wishes
    if (key !== this.#key) {
      this.#key = key
      this.#asked = ''
    }
    this.#restart()
  }

  /** What all open screens want together, as a query; null: nothing. */
  #query(): string | null {
    const wishes = [...this.#tabs.values()].flatMap((tab) => tab.wishes)
    if (wishes.length === 0) return null
    const query = new URLSearchParams()
    if (wishes.every((wish) => wish.types)) query.set('types', [...new Set(wishes.flatMap((wish) => wish.types!))].sort().join(','))
    const [first] = wishes
    if (first.queue && wishes.every((wish) => wish.queue === first.queue)) query.set('queue', first.queue)
    if (first.job && wishes.every((wish) => wish.job === first.job)) query.set('job_id', first.job)
    return query.toString()
  }
  #restart() {
    const query = this.#query()
    if (query === null) {
      this.#abort?.abort()
      this.#abort = null
      this.#asked = ''
      this.#last = ''
      return
    }
    if (this.#abort && query === this.#asked) return
    this.#abort?.abort()
    this.#asked = query
    void this.#run(query, (this.#abort = new AbortController()))
  }
  async #run(query: string, abort: AbortController) {
    while (!abort.signal.aborted) {
      try {
        const headers: Record<string, string> = { accept: 'text/event-stream' }
        if (this.#key) headers.authorization = `Bearer ${this.#key}`
        if (this.#last) headers['last-event-id'] = this.#last
        const answer = await fetch(`/api/v1/events?${query}`, { headers, signal: abort.signal, cache: 'no-store' })
        if (answer.status === 404) {
          this.#tell(false, true)
          return
        }
        if (answer.ok && answer.body) {
          this.#wait = 500
          this.#tell(true, false)
          await this.#read(answer.body, abort)
        }
      } catch {
        // Aborted, or the connection broke: below decides which.
      }
      if (abort.signal.aborted) return
      this.#tell(false, false)
      await new Promise((done) => setTimeout(done, this.#wait))
      this.#wait = Math.min(this.#wait * 2, 5000)
    }
  }
  async #read(body: ReadableStream<Uint8Array>, abort: AbortController) {
    const reader = body.getReader()
    const decoder = new TextDecoder()
    let text = ''
    for (;;) {
      // A connection can die without a word; the server sends a comment now and then.
      clearTimeout(this.#silence)
      this.#silence = setTimeout(() => void reader.cancel(), SILENCE_MS)
      const { done, value } = await reader.read()
      if (done || abort.signal.aborted) break
      text += decoder.decode(value, { stream: true })
      const parts = text.split('\n\n')
      text = parts.pop()!
      for (const part of parts) this.#message(part)
    }
    clearTimeout(this.#silence)
  }
  #message(part: string) {
    let id = ''
    let type = ''
    let data = ''
    for (const line of part.split('\n')) {
      const cut = line.indexOf(': ')
      if (cut < 1) continue
      const value = line.slice(cut + 2)
      const name = line.slice(0, cut)
      if (name === 'id') id = value
      else if (name === 'event') type = value
      else if (name === 'data') data += value
    }
    if (id) {
      this.#last = id
      this.#flush ??= setTimeout(() => this.#hand(), PARCEL_MS)
    }
    if (type === 'reset') for (const tab of this.#tabs.values()) tab.send({ kind: 'reset' })
    if (!data || type === 'reset') return
    let event: Event
    try {
      event = { ...JSON.parse(data), id, type }
    } catch {
      return
    }
    for (const tab of this.#tabs.values()) {
      if (!tab.wishes.some((wish) => wants(wish, event))) continue
      if (tab.waiting.length < PARCEL_EVENTS) tab.waiting.push(event)
      else tab.left_out++
    }
  }
  #hand() {
    this.#flush = undefined
    for (const tab of this.#tabs.values()) {
      if (tab.waiting.length === 0) continue
      tab.send({ kind: 'events', parcel: { events: tab.waiting, left_out: tab.left_out } })
      tab.waiting = []
      tab.left_out = 0
    }
    this.handed(this.#last)
  }
  #tell(live: boolean, missing: boolean) {
    this.#live = live
    this.#missing = missing
    for (const tab of this.#tabs.values()) tab.send({ kind: 'live', live, missing })
  }
}
