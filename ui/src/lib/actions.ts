// What users do to queues and jobs from several screens.
import { api, type State } from './api'
import { attempt, notices } from './notices.svelte'

export async function pauseQueue(name: string, pause: boolean): Promise<void> {
  try {
    await api.queueAction(name, pause ? 'pause' : 'resume')
    notices.say(pause ? `${name} is paused` : `${name} runs again`, {
      label: 'Undo',
      run: () => void attempt('', () => api.queueAction(name, pause ? 'resume' : 'pause')),
    })
  } catch (error) {
    notices.complain(error)
  }
}

export const MAY: Record<string, State[]> = {
  retry: ['dead', 'cancelled', 'completed'],
  requeue: ['dead'],
  cancel: ['pending', 'scheduled', 'waiting', 'retrying', 'active'],
  move: ['pending', 'scheduled', 'dead', 'completed'],
  change_priority: ['pending', 'scheduled'],
}

/** For a shell: nothing in it is expanded. */
export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
export const here = () => location.origin

/** How long until a queue is empty at the pace of the last minute; null: never at this pace. */
export function drainMs(q: { pending: number; rates?: { enqueued: number; completed: number } }): number | null {
  if (!q.rates || q.pending === 0) return null
  const net = q.rates.completed - q.rates.enqueued
  return net > 0.001 ? (q.pending / net) * 1000 : null
}
