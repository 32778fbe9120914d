// Fails when the built UI is larger than it may be: what the first screen loads, and all of it, in gzip.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const FIRST = 60 * 1024
const ALL = 100 * 1024
const dist = join(dirname(fileURLToPath(import.meta.url)), 'dist')

const walk = (folder) => readdirSync(folder).flatMap((name) => {
  const path = join(folder, name)
  return statSync(path).isDirectory() ? walk(path) : [path]
})
const files = new Map(walk(dist).map((path) => [relative(dist, path), readFileSync(path)]))
const weight = new Map([...files].map(([name, bytes]) => [name, gzipSync(bytes, { level: 9 }).length]))

// What the page names, what that imports at once, and the events.
const first = new Set(['index.html'])
const add = (name) => {
  if (first.has(name) || !files.has(name)) return
  first.add(name)
  if (!name.endsWith('.js')) return
  for (const [, from] of files.get(name).toString().matchAll(/(?:from|import)\s*["']\.\/([^"']+)["']/g)) add(join(dirname(name), from))
}
for (const [, path] of files.get('index.html').toString().matchAll(/(?:src|href)="\/ui\/([^"]+)"/g)) add(path)
for (const name of files.keys()) if (/\/stream\.worker-[^/]*\.js$/.test(name)) add(name)

const sum = (names) => [...names].reduce((total, name) => total + weight.get(name), 0)
const kb = (n) => `${(n / 1024).toFixed(1)} KB`
const [some, all] = [sum(first), sum(files.keys())]
console.log(`first load ${kb(some)} of ${kb(FIRST)}, all ${kb(all)} of ${kb(ALL)} (gzip, ${files.size} files)`)
if (some > FIRST || all > ALL) {
  for (const [name, n] of [...weight].sort((a, b) => b[1] - a[1])) console.error(`${kb(n).padStart(10)}  ${first.has(name) ? 'first' : 'later'}  ${name}`)
  console.error('The UI is larger than it may be.')
  process.exit(1)
}
