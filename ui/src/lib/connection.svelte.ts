// Whether the server is there. One failed request is enough to say so; then it is asked until it is back.
const FIRST_MS = 800
const LONGEST_MS = 5000

class Connection {
  away = $state(false)
  since = $state(0)
  /** Goes up each time the server comes back: what is shown is then asked for again. */
  epoch = $state(0)
  /** Since when the cluster has no leader; 0: it has one. */
  headless = $state(0)
  #timer: ReturnType<typeof setTimeout> | undefined

  lost() {
    if (this.away) return
    this.away = true
    this.since = Date.now()
    this.#ask(FIRST_MS)
  }
  heard() {
    if (!this.away) return
    clearTimeout(this.#timer)
    this.away = false
    this.epoch++
  }
  leaderless() {
    this.headless ||= Date.now()
  }
  led() {
    if (!this.headless) return
    this.headless = 0
    this.epoch++
  }
  now() {
    clearTimeout(this.#timer)
    this.#ask(0)
  }
  #ask(wait: number) {
    this.#timer = setTimeout(async () => {
      try {
        const answer = await fetch('/healthz', { cache: 'no-store', signal: AbortSignal.timeout(4000) })
        if (answer.ok) return this.heard()
      } catch {
        // Still away.
      }
      if (this.away) this.#ask(Math.min(LONGEST_MS, wait * 1.6 || FIRST_MS))
    }, wait)
  }
}

export const connection = new Connection()
