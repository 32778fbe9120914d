// JSON as text. A payload never becomes a JavaScript number: 9007199254740993 and 1.0 stay what they were.

/** A JSON value of a job, as the server sent it, byte for byte. */
export class Raw {
  constructor(readonly text: string) {}
}

/** One value of a text, for showing it as a tree. Numbers and strings keep their source. */
export interface Node {
  kind: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'
  /** The source: a number as written, a string decoded; empty for objects and arrays. */
  text: string
  /** Of objects and arrays; keys of an object's members, or positions. */
  items: { key: string; value: Node }[]
}

const SPACE = /[ \t\n\r]*/y
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const WORD = /true|false|null/y
const MAX_DEPTH = 128

class Reader {
  at = 0
  constructor(readonly text: string) {}

  space() {
    SPACE.lastIndex = this.at
    SPACE.exec(this.text)
    this.at = SPACE.lastIndex
  }
  take(pattern: RegExp): string | null {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (!found) return null
    this.at = pattern.lastIndex
    return found[0]
  }
  fail(what: string): never {
    throw new Error(`${what} at character ${this.at + 1}`)
  }
  /** Calls `each` for every item of the object or array that begins here. */
  items(object: boolean, each: (key: string, index: number) => void) {
    const close = object ? '}' : ']'
    this.at++
    this.space()
    if (this.text[this.at] === close) {
      this.at++
      return
    }
    for (let index = 0; ; index++) {
      this.space()
      let key = String(index)
      if (object) {
        const name = this.take(STRING) ?? this.fail('expected a name in quotes')
        key = JSON.parse(name)
        this.space()
        if (this.text[this.at] !== ':') this.fail('expected ":"')
        this.at++
        this.space()
      }
      each(key, index)
      this.space()
      if (this.text[this.at] === close) break
      if (this.text[this.at] !== ',') this.fail(`expected "," or "${close}"`)
      this.at++
    }
    this.at++
  }
  node(depth: number): Node {
    if (depth > MAX_DEPTH) this.fail('nested too deeply')
    const first = this.text[this.at]
    if (first === '{' || first === '[') {
      const items: Node['items'] = []
      this.items(first === '{', (key) => items.push({ key, value: this.node(depth + 1) }))
      return { kind: first === '{' ? 'object' : 'array', text: '', items }
    }
    if (first === '"') {
      const source = this.take(STRING) ?? this.fail('this string does not end, or has a bad escape')
      return { kind: 'string', text: JSON.parse(source), items: [] }
    }
    const word = this.take(WORD)
    if (word) return { kind: word === 'null' ? 'null' : 'boolean', text: word, items: [] }
    const number = this.take(NUMBER)
    if (number != null) return { kind: 'number', text: number, items: [] }
    this.fail(first === undefined ? 'the text ends too early' : `unexpected "${first}"`)
  }
  /** A value as JavaScript has it, but members named in `raw` as their text. */
  value(raw: ReadonlySet<string>, depth: number): unknown {
    const first = this.text[this.at]
    if (first === '{') {
      const out: Record<string, unknown> = {}
      this.items(true, (key) => {
        const from = this.at
        if (raw.has(key)) {
          this.node(depth + 1)
          const text = this.text.slice(from, this.at)
          out[key] = text === 'null' && key !== 'payload' ? null : new Raw(text)
        } else out[key] = this.value(raw, depth + 1)
      })
      return out
    }
    if (first === '[') {
      const out: unknown[] = []
      this.items(false, () => out.push(this.value(raw, depth + 1)))
      return out
    }
    const leaf = this.node(depth)
    if (leaf.kind === 'string') return leaf.text
    if (leaf.kind === 'number') return Number(leaf.text)
    return leaf.text === 'null' ? null : leaf.text === 'true'
  }
}

function whole<T>(text: string, read: (reader: Reader) => T): T {
  const reader = new Reader(text)
  reader.space()
  const out = read(reader)
  reader.space()
  if (reader.at < text.length) reader.fail('unexpected text behind the value')
  return out
}

export const parseTree = (text: string): Node => whole(text, (reader) => reader.node(0))

/** Whether a tag can be said as `name=value` in a list of such. */
export const plainTag = ({ key, value }: Node['items'][0]) =>
  value.kind === 'string' && !/^$|[{,=:]|^\s|\s$/.test(key) && !/,|^\s|\s$/.test(value.text)

/** An answer of the API, with what belongs to users left as text. */
export function parseAnswer(text: string, raw: ReadonlySet<string>): unknown {
  return whole(text, (reader) => reader.value(raw, 0))
}

/** Null when the text is JSON, else what is wrong with it and where. */
export function fault(text: string): string | null {
  try {
    parseTree(text)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

/** Indented by two; numbers stay as they were written. */
export function pretty(text: string): string {
  const write = (node: Node, indent: string): string => {
    if (node.kind === 'string') return JSON.stringify(node.text)
    if (node.kind !== 'object' && node.kind !== 'array') return node.text
    const object = node.kind === 'object'
    if (node.items.length === 0) return object ? '{}' : '[]'
    const inner = indent + '  '
    const lines = node.items.map(
      ({ key, value }) => inner + (object ? `${JSON.stringify(key)}: ` : '') + write(value, inner),
    )
    return `${object ? '{' : '['}\n${lines.join(',\n')}\n${indent}${object ? '}' : ']'}`
  }
  try {
    return write(parseTree(text), '')
  } catch {
    return text
  }
}

/** An object whose members are texts of JSON already; those that are undefined are left out. */
export function object(members: Record<string, string | undefined>): string {
  const parts = Object.entries(members).filter(([, text]) => text !== undefined)
  return `{${parts.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`
}
