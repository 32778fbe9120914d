// Keys: single ones, and those that follow `g`. None while something is being typed.
import { onDestroy } from 'svelte'

type Handlers = Record<string, (event: KeyboardEvent) => void>

const layers: Handlers[] = []
let prefix = ''
let prefixTimer: ReturnType<typeof setTimeout> | undefined

function typing(event: KeyboardEvent): boolean {
  const at = event.target as HTMLElement
  return at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) && (at as HTMLInputElement).type !== 'checkbox'
}

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.altKey || typing(event)) return
  if (event.ctrlKey || event.metaKey) return
  if (document.querySelector('dialog[open]')) return
  // A button or a link keeps what Enter and Space do.
  if ((event.key === 'Enter' || event.key === ' ') && (event.target as HTMLElement).closest('a, button, summary, [role=menuitem]')) return
  const name = prefix ? `${prefix} ${event.key}` : event.key
  clearTimeout(prefixTimer)
  const had = prefix
  prefix = ''
  for (let i = layers.length - 1; i >= 0; i--) {
    const run = layers[i][name]
    if (!run) continue
    event.preventDefault()
    return run(event)
  }
  if (!had && event.key === 'g') {
    prefix = 'g'
    prefixTimer = setTimeout(() => (prefix = ''), 1200)
  }
})

/** For the life of a component; later ones go before earlier ones. */
export function onKeys(handlers: Handlers) {
  layers.push(handlers)
  onDestroy(() => void layers.splice(layers.indexOf(handlers), 1))
}
