// How full the queues have been while this page was open: for the small curves, without asking for more.
import type { Queue } from './api'

const KEPT = 60

class History {
  #pending = new Map<string, number[]>()
  #turn = $state(0)

  note(queues: Queue[]) {
    for (const q of queues) {
      const list = this.#pending.get(q.name) ?? []
      list.push(q.pending + q.active)
      if (list.length > KEPT) list.shift()
      this.#pending.set(q.name, list)
    }
    this.#turn++
  }
  of(name: string): number[] {
    void this.#turn
    return [...(this.#pending.get(name) ?? [])]
  }
}

export const history = new History()
