// Something the server is asked for now and then: never twice at once, never while nobody looks, and
// again at once when the server has come back.
import { ApiError } from './api'
import { connection } from './connection.svelte'

export interface Resource<T> {
  readonly data: T | undefined
  readonly error: ApiError | null
  readonly missing: boolean
  refresh(): Promise<void>
}

/** Use it while a component is made. `load` is run anew when what it reads changes. */
export function resource<T>(load: () => Promise<T>, everyMs = 0): Resource<T> {
  let data = $state.raw<T | undefined>(undefined)
  let error = $state.raw<ApiError | null>(null)
  let turn = 0
  let running = false
  let again = false

  async function run(promise: Promise<T>, mine: number) {
    running = true
    try {
      const got = await promise
      if (mine !== turn) return
      data = got
      error = null
    } catch (thrown) {
      if (mine !== turn) return
      const known = thrown instanceof ApiError ? thrown : new ApiError(-1, 'broken', String(thrown))
      // While nobody answers, or nobody leads, the last known state stays on the screen, under the banner.
      if (known.status !== 0 && known.code !== 'no_leader' && known.code !== 'removed') {
        error = known
        if (known.notFound) data = undefined
      }
    } finally {
      if (mine === turn) {
        running = false
        if (again) {
          again = false
          void refresh()
        }
      }
    }
  }
  async function refresh() {
    if (running) {
      again = true
      return
    }
    await run(load(), turn)
  }

  $effect(() => {
    connection.epoch
    turn++
    running = false
    again = false
    void run(load(), turn)
    if (!everyMs) return
    const timer = setInterval(() => {
      if (!document.hidden && !connection.away && !running && !error?.missing) void refresh()
    }, everyMs)
    const seen = () => {
      if (!document.hidden && !connection.away) void refresh()
    }
    document.addEventListener('visibilitychange', seen)
    return () => {
      turn++
      clearInterval(timer)
      document.removeEventListener('visibilitychange', seen)
    }
  })

  return {
    get data() {
      return data
    },
    get error() {
      return error
    },
    get missing() {
      return error?.missing ?? false
    },
    refresh,
  }
}
