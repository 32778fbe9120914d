// One stream for all tabs where the browser has no shared workers: the tab that gets the lock holds it for
// the others, and when that tab goes, the next one takes over behind the last event that was handed on.
import { Stream, type FromTab, type ToTab } from './stream'

type Word = { from: string; message: FromTab } | { to: string; message: ToTab } | { last: string } | { roll: true }
const ROLL_MS = 200

export function inOneTab(take: (message: ToTab) => void): (message: FromTab) => void {
  const me = `${Math.random()}`
  // Pages that are neither encrypted nor local have no locks: then each tab is on its own.
  const channel = navigator.locks ? new BroadcastChannel('jobbie') : null
  const say = (word: Word) => channel?.postMessage(word)
  const wishes = new Map<string, FromTab & { kind: 'wish' }>()
  let stream: Stream | null = null
  let last = ''

  function hear(from: string, message: FromTab) {
    if (message.kind === 'wish') {
      wishes.set(from, message)
      stream?.join(from, (answer) => (from === me ? take(answer) : say({ to: from, message: answer })))
      stream?.wish(from, message.wishes, message.key)
    } else if (message.kind === 'bye') {
      wishes.delete(from)
      stream?.leave(from)
    }
  }
  function hold() {
    stream = new Stream(last, (handed) => say({ last: handed }))
    // All at once: a narrower stream in between would pass over what the other tabs want.
    for (const [from, wish] of wishes) hear(from, wish)
  }
  if (channel) {
    channel.onmessage = ({ data }: MessageEvent<Word>) => {
      if ('last' in data) last = data.last
      else if ('roll' in data) wishes.has(me) && say({ from: me, message: wishes.get(me)! })
      else if ('from' in data) hear(data.from, data.message)
      else if (data.to === me) take(data.message)
    }
    void navigator.locks.request('jobbie', () => {
      for (const from of wishes.keys()) if (from !== me) wishes.delete(from)
      say({ roll: true })
      setTimeout(hold, ROLL_MS)
      return new Promise(() => {})
    })
  } else hold()

  return (message) => {
    hear(me, message)
    say({ from: me, message })
  }
}
