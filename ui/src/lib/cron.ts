// Cron as a sentence, for the expressions that people write; the others stay as they are.
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December']
const NICK: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}
const PLAIN = /^\d+$/
// Only steps that come evenly: */45 is at minutes 0 and 45.
const steps = (field: string, of: number, unit: string) => {
  const n = field === '*' ? 1 : field.startsWith('*/') ? Number(field.slice(2)) : 0
  return n && of % n === 0 ? `every ${n === 1 ? unit : `${n} ${unit}s`}` : ''
}
const two = (n: string) => n.padStart(2, '0')
const join = (list: string[]) => (list.length < 2 ? list.join('') : `${list.slice(0, -1).join(', ')} and ${list.at(-1)}`)

function named(field: string, names: string[], from: number): string | null {
  const short = names.map((name) => name.slice(0, 3).toLowerCase())
  const one = (text: string) => {
    const n = PLAIN.test(text) ? Number(text) - from : short.indexOf(text.toLowerCase())
    return names[n === 7 && names === DAYS ? 0 : n]
  }
  const parts = field.split(',').map((part) => {
    const ends = part.split('-').map(one)
    return ends.length > 2 || ends.some((e) => !e) ? null : ends.join(' to ')
  })
  return parts.some((p) => p === null) ? null : join(parts as string[])
}

/** Null: it has no simple sentence. */
export function sentence(cron: string): string | null {
  const fields = (NICK[cron.trim()] ?? cron).trim().split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6) return null
  const seconds = fields.length === 6 ? fields[0] : '0'
  const [minute, hour, day, month, weekday] = fields.slice(-5)

  let when: string
  const plain = PLAIN.test(minute)
  const everyMinutes = steps(minute, 60, 'minute')
  const everyHours = steps(hour, 24, 'hour')
  const times = plain && hour.split(',').every((h) => PLAIN.test(h)) ? hour.split(',').map((h) => `${two(h)}:${two(minute)}`) : null
  if (seconds !== '0') {
    if (fields.slice(1).some((f) => f !== '*')) return null
    when = steps(seconds, 60, 'second') || (PLAIN.test(seconds) ? `every minute at second ${seconds}` : '')
    if (!when) return null
  } else if (times) when = `at ${join(times)}`
  else if (hour === '*' && everyMinutes) when = everyMinutes
  else if (everyHours && plain) when = minute === '0' ? everyHours : `${everyHours} at minute ${minute}`
  else if (/^\d+-\d+$/.test(hour) && (everyMinutes || plain)) {
    const [a, b] = hour.split('-')
    when = `${everyMinutes || `every hour at minute ${minute}`} from ${two(a)}:00 to ${two(b)}:59`
  } else return null

  const on: string[] = []
  if (weekday !== '*') {
    const names = weekday === '1-5' ? 'weekdays' : named(weekday, DAYS, 0)
    if (!names) return null
    on.push(names === 'weekdays' ? 'on weekdays' : `on ${names}`)
  }
  if (day !== '*') {
    if (!day.split(',').every((d) => PLAIN.test(d))) return null
    on.push(`${on.length ? 'or ' : ''}on day ${join(day.split(','))} of the month`)
  }
  if (month !== '*') {
    const names = named(month, MONTHS, 1)
    if (!names) return null
    on.push(`in ${names}`)
  }
  const daily = times && on.length === 0 ? 'every day ' : ''
  const text = [...(times ? [daily + when] : [when]), ...on].join(' ')
  return text[0].toUpperCase() + text.slice(1)
}
