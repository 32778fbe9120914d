// Numbers, times and lengths of time as people read them.
import { prefs } from './prefs.svelte'

const whole = new Intl.NumberFormat('en-US')
export const count = (n: number | null | undefined) => (n == null ? '–' : whole.format(n))

/** 12,400 → 12.4k; small numbers stay exact. */
export function short(n: number | null | undefined): string {
  if (n == null) return '–'
  if (n < 10_000) return whole.format(n)
  if (n < 999_500) return `${trim(n / 1000)}k`
  if (n < 999_500_000) return `${trim(n / 1e6)}M`
  return `${trim(n / 1e9)}G`
}
const trim = (n: number) => (n < 100 ? n.toFixed(1).replace(/\.0$/, '') : n.toFixed(0))

/** Events a second, told by the minute where that is what a person would say. */
export function rate(perSecond: number | null | undefined): string {
  if (perSecond == null) return '–'
  if (perSecond === 0) return '0/min'
  if (perSecond >= 10) return `${short(Math.round(perSecond))}/s`
  const perMinute = perSecond * 60
  return `${perMinute < 10 ? perMinute.toFixed(1).replace(/\.0$/, '') : Math.round(perMinute)}/min`
}

/** 4200 → 4.2 s; 15720000 → 4 h 22 m. Two units at most. */
export function span(ms: number | null | undefined): string {
  if (ms == null) return '–'
  if (ms < 0) ms = 0
  if (ms > 0 && ms < 1) return '<1 ms'
  if (ms < 1000) return `${Math.round(ms)} ms`
  const s = ms / 1000
  if (s < 9.95) return `${s.toFixed(1).replace(/\.0$/, '')} s`
  if (s < 60) return `${Math.round(s)} s`
  const two = (big: number, unit: string, rest: number, small: string) =>
    rest ? `${big} ${unit} ${rest} ${small}` : `${big} ${unit}`
  const m = Math.floor(s / 60)
  if (m < 60) return two(m, 'm', m < 10 ? Math.floor(s % 60) : 0, 's')
  const h = Math.floor(m / 60)
  if (h < 48) return two(h, 'h', m % 60, 'm')
  return two(Math.floor(h / 24), 'd', h % 24, 'h')
}

export function ago(iso: string | number | null | undefined, now: number): string {
  if (!iso) return '–'
  const ms = now - (typeof iso === 'number' ? iso : Date.parse(iso))
  if (ms < 0) return ms > -1000 ? 'now' : `in ${oneUnit(-ms)}`
  return ms < 1000 ? 'now' : `${oneUnit(ms)} ago`
}
function oneUnit(ms: number): string {
  const s = ms / 1000
  if (s < 60) return `${Math.floor(s)}s`
  if (s < 3600) return `${Math.floor(s / 60)}m`
  if (s < 48 * 3600) return `${Math.floor(s / 3600)}h`
  return `${Math.floor(s / 86400)}d`
}

const formats = new Map<string, Intl.DateTimeFormat>()
function format(kind: string, zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${kind} ${zone}`
  let found = formats.get(key)
  if (!found) {
    found = new Intl.DateTimeFormat('sv-SE', { ...options, timeZone: zone === 'local' ? undefined : zone })
    formats.set(key, found)
  }
  return found
}
const DAY: Intl.DateTimeFormatOptions = { year: 'numeric', month: '2-digit', day: '2-digit' }
const CLOCK: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', second: '2-digit' }

/** 2026-02-11 10:00:00 in the chosen zone. */
export function absolute(iso: string | number | null | undefined, zone = prefs.zone): string {
  if (!iso) return '–'
  return format('both', zone, { ...DAY, ...CLOCK }).format(new Date(iso))
}
/** 10:00:00, with thousandths where asked for. */
export function clock(iso: string | number, zone = prefs.zone, fraction = false): string {
  const date = new Date(iso)
  const text = format('clock', zone, CLOCK).format(date)
  return fraction ? `${text}.${String(date.getMilliseconds()).padStart(3, '0')}` : text
}
export function day(iso: string | number, zone = prefs.zone): string {
  return format('day', zone, DAY).format(new Date(iso))
}
export function zoneName(zone = prefs.zone): string {
  if (zone !== 'local') return zone
  return Intl.DateTimeFormat().resolvedOptions().timeZone || 'local'
}

export const shortId = (id: string) => {
  const cut = id.indexOf('_') + 1
  return id.length - cut > 14 ? `${id.slice(0, cut)}${id.slice(cut, cut + 4)}…${id.slice(-6)}` : id
}
export const plural = (n: number, one: string, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`
export const bytes = (mb: number | null | undefined) =>
  mb == null ? '–' : mb >= 1024 ? `${trim(mb / 1024)} GiB` : `${mb} MiB`
