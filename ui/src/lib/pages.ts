// Lists that come in pages: all of one, up to a bound.
import { API } from './api'
import { session } from './session.svelte'

const MOST = 20

/** `first` is the first page of what is at `path`; the others are put behind it. */
export async function allOf<K extends string, T>(path: K, first: Promise<Record<K, T[]>>): Promise<Record<K, T[]>> {
  const all = await first
  let page: Record<K, T[]> & { cursor?: string | null; has_more?: boolean } = all
  for (let n = 1; page.has_more && page.cursor && n < MOST; n++) {
    const answer = await fetch(`${API}/${path}?cursor=${encodeURIComponent(page.cursor)}`, { headers: session.key ? { authorization: `Bearer ${session.key}` } : {} })
    if (!answer.ok) throw answer.statusText
    page = await answer.json()
    all[path].push(...page[path])
  }
  return all
}
