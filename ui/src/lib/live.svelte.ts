// A screen's side of the stream of events.
import { onDestroy } from 'svelte'
import { connection } from './connection.svelte'
import { session } from './session.svelte'
import { wants, type FromTab, type Parcel, type ToTab, type Wish } from './stream'
import { inOneTab } from './tabs'

export type { Event, Wish } from './stream'

interface Listener {
  wish: Wish
  hear: (parcel: Parcel) => void
}

class Live {
  /** The stream is open. */
  on = $state(false)
  /** This server has no stream: screens ask now and then instead. */
  missing = $state(false)
  /** Goes up when events were lost: what is shown has to be asked for again. */
  resets = $state(0)
  #listeners = new Set<Listener>()
  #send: ((message: FromTab) => void) | null = null
  #told = ''

  listen(wish: Wish, hear: (parcel: Parcel) => void): () => void {
    const listener = { wish, hear }
    this.#listeners.add(listener)
    this.#tell()
    return () => {
      this.#listeners.delete(listener)
      this.#tell()
    }
  }
  #open(): (message: FromTab) => void {
    try {
      const worker = new SharedWorker(new URL('./stream.worker.ts', import.meta.url), { type: 'module', name: 'jobbie' })
      worker.port.onmessage = ({ data }: MessageEvent<ToTab>) => this.#take(data)
      setInterval(() => this.#send?.({ kind: 'alive' }), 60_000)
      return (message) => worker.port.postMessage(message)
    } catch {
      return inOneTab((message) => this.#take(message))
    }
  }
  #tell() {
    // After the screens have changed places, so that one stream is not ended and begun anew.
    queueMicrotask(() => {
      const wishes = [...this.#listeners].map((listener) => listener.wish)
      const text = JSON.stringify([wishes, session.key])
      if (text === this.#told) return
      this.#told = text
      if (!this.#send) {
        this.#send = this.#open()
        addEventListener('pagehide', () => this.#send!({ kind: 'bye' }))
        addEventListener('pageshow', (event) => {
          if (event.persisted) location.reload()
        })
      }
      this.#send({ kind: 'wish', wishes: JSON.parse(JSON.stringify(wishes)), key: session.key })
    })
  }
  #take(message: ToTab) {
    if (message.kind === 'live') {
      if (message.live) connection.heard()
      this.on = message.live
      this.missing = message.missing
    } else if (message.kind === 'reset') this.resets++
    else
      for (const { wish, hear } of this.#listeners) {
        const events = message.parcel.events.filter((event) => wants(wish, event))
        if (events.length) hear({ events, left_out: message.parcel.left_out })
      }
  }
}

export const live = new Live()

/** Calls `hear` for what `wish` asks for, as long as the component is there. */
export function follow(wish: Wish, hear: (parcel: Parcel) => void) {
  onDestroy(live.listen(wish, hear))
}
