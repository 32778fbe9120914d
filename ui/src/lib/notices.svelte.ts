// Short notices at the foot of the screen: what was done, what was refused, and a way back.
export interface Notice {
  id: number
  text: string
  bad: boolean
  action?: { label: string; run: () => void }
}
const LASTS_MS = 6000

class Notices {
  list = $state<Notice[]>([])
  #next = 1

  say(text: string, action?: Notice['action']) {
    this.#add({ id: this.#next++, text, bad: false, action })
  }
  complain(error: unknown) {
    this.#add({ id: this.#next++, text: error instanceof Error ? error.message : String(error), bad: true })
  }
  drop(id: number) {
    this.list = this.list.filter((notice) => notice.id !== id)
  }
  #add(notice: Notice) {
    this.list = [...this.list.slice(-3), notice]
    setTimeout(() => this.drop(notice.id), notice.bad ? LASTS_MS * 2 : LASTS_MS)
  }
}

export const notices = new Notices()

/** Runs an action of the user's: tells what came of it, and whether it went well. */
export async function attempt(done: string | ((answer: never) => string), action: () => Promise<unknown>): Promise<boolean> {
  try {
    const answer = await action()
    const text = typeof done === 'string' ? done : done(answer as never)
    if (text) notices.say(text)
    return true
  } catch (error) {
    notices.complain(error)
    return false
  }
}
