// A search as it stands in the address, as the server takes it, and as a person says it.
import { absolute } from './format'
import type { BulkOperation, Filter } from './api'

export interface Field {
  name: string
  label: string
  kind: 'text' | 'number' | 'time' | 'tags' | 'choice'
  hint?: string
  choices?: [string, string][]
  /** Shown without asking for more. */
  first?: boolean
}

const period = (what: string, label: string): Field[] => [
  { name: `${what}_after`, label: `${label} after`, kind: 'time' },
  { name: `${what}_before`, label: `${label} before`, kind: 'time' },
]

export const FIELDS: Field[] = [
  { name: 'payload_contains', label: 'Payload contains', kind: 'text', hint: 'user@example.com', first: true },
  { name: 'payload_jq', label: 'jq filter', kind: 'text', hint: '.template == "welcome"', first: true },
  { name: 'error_contains', label: 'Error contains', kind: 'text', hint: 'SMTP timeout', first: true },
  { name: 'tags', label: 'Tags', kind: 'tags', hint: 'tenant=acme-corp', first: true },
  { name: 'priority', label: 'Priority', kind: 'choice', choices: [['', 'All'], ['critical', 'Critical'], ['high', 'High'], ['normal', 'Normal']], first: true },
  { name: 'queue', label: 'Queue', kind: 'text', hint: 'emails.*', first: true },
  { name: 'created_after', label: 'Created after', kind: 'time', first: true },
  { name: 'created_before', label: 'Created before', kind: 'time', first: true },
  { name: 'has_errors', label: 'Errors', kind: 'choice', choices: [['', 'All'], ['true', 'With errors'], ['false', 'Without']] },
  { name: 'error_group', label: 'Error group', kind: 'text', hint: '387d30a58634e9c0' },
  { name: 'attempt_min', label: 'Attempts at least', kind: 'number' },
  { name: 'attempt_max', label: 'Attempts at most', kind: 'number' },
  { name: 'worker_id', label: 'Worker', kind: 'text' },
  { name: 'group', label: 'Group', kind: 'text' },
  { name: 'batch_id', label: 'Batch', kind: 'text', hint: 'batch_01…' },
  { name: 'schedule_id', label: 'Schedule', kind: 'text', hint: 'sched_01…' },
  { name: 'unique_key', label: 'Unique key', kind: 'text' },
  { name: 'job_id_prefix', label: 'Id begins with', kind: 'text', hint: 'job_01HX' },
  ...period('scheduled', 'Scheduled'),
  ...period('started', 'Started'),
  ...period('completed', 'Completed'),
  ...period('expire', 'Expires'),
]

export const SORTS = ['created_at', 'started_at', 'ended_at', 'scheduled_at', 'priority', 'attempt']

export function parseTags(text: string): Record<string, string> | null {
  const tags: Record<string, string> = {}
  for (const part of text.split(',')) {
    const cut = part.search(/[=:]/)
    if (cut > 0) tags[part.slice(0, cut).trim()] = part.slice(cut + 1).trim()
  }
  return Object.keys(tags).length ? tags : null
}

/** The filter of an address, without sort and page. What cannot be read stays as it is: the server refuses it. */
export function fromQuery(query: URLSearchParams): Filter {
  const filter: Filter = {}
  const states = query.get('state')
  if (states) filter.state = states.split(',')
  for (const field of FIELDS) {
    const text = query.get(field.name)
    if (!text) continue
    if (field.kind === 'tags') filter.tags = text.split(',').every((part) => part.search(/[=:]/) > 0) ? parseTags(text) : text
    else if (field.kind === 'number') filter[field.name] = Number.isFinite(Number(text)) ? Number(text) : text
    else if (field.name === 'has_errors') filter.has_errors = text === 'true' || (text !== 'false' && text)
    else filter[field.name] = text
  }
  return filter
}

/** state dead, error contains “SMTP timeout” */
export function describe(filter: Filter): string[] {
  const said: string[] = []
  for (const [name, value] of Object.entries(filter)) {
    if (name === 'state') said.push(([] as string[]).concat(value as string).join(' or '))
    else if (name === 'tags') for (const [k, v] of Object.entries(value as object)) said.push(`${k} = ${v}`)
    else if (name === 'ids') said.push(`out of ${(value as string[]).length}`)
    else if (name === 'has_errors') said.push(value ? 'with errors' : 'without errors')
    else {
      const field = FIELDS.find((f) => f.name === name)
      const text = field?.kind === 'time' ? absolute(String(value)) : `“${value}”`
      said.push(`${(field?.label ?? name.replaceAll('_', ' ')).toLowerCase()} ${text}`)
    }
  }
  return said
}

/** change priority to high */
export const inWords = ({ action, move_to_queue: queue, priority }: BulkOperation) => `${action.replaceAll('_', ' ')}${queue ? ` to ${queue}` : ''}${priority == null ? '' : ` to ${priority}`}`

/** A moment as `<input type=datetime-local>` shows it in the chosen zone, and back. */
export const toInput = (iso: string, zone: string) => (Date.parse(iso) ? absolute(iso, zone).replace(' ', 'T') : '')
export function fromInput(text: string, zone: string): string {
  if (!text) return ''
  const wanted = Date.parse(`${text.length === 16 ? `${text}:00` : text}Z`)
  if (Number.isNaN(wanted)) return ''
  let moment = wanted
  for (let i = 0; i < 2; i++) moment -= Date.parse(`${absolute(moment, zone).replace(' ', 'T')}Z`) - wanted
  return new Date(moment).toISOString()
}
