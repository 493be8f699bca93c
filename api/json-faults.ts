import type { Detail } from '../domain/kernel/refusal.ts'

// The silent changes of `JSON.parse`: it keeps the last value of a repeated key in an object, and it rounds long numbers.

const isLost = (value: unknown): boolean =>
  typeof value === 'number' && (Number.isInteger(value) || !Number.isFinite(value)) && !Number.isSafeInteger(value)

const below = (path: string, name: string | number): string =>
  typeof name === 'number' ? `${path}[${name}]` : path ? `${path}.${name}` : name
const fieldOf = (path: string): string => path.slice(0, 256) || 'body'

/** The keys of all objects in a value, and whether a whole number in it lies outside of what a number can hold. */
function lookInto(value: unknown): { keys: number; losesNumbers: boolean } {
  let keys = 0
  let losesNumbers = false
  const open: object[] = []
  const look = (one: unknown) => {
    if (typeof one === 'object' && one !== null) open.push(one)
    else if (isLost(one)) losesNumbers = true
  }
  look(value)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next)) for (const item of next) look(item)
    else {
      const names = Object.keys(next)
      keys += names.length
      for (const name of names) look((next as Record<string, unknown>)[name])
    }
  }
  return { keys, losesNumbers }
}

/** The path of the first number that is rounded. The depth was checked before. */
function lostNumber(value: unknown, path: string): string | null {
  if (isLost(value)) return path
  if (typeof value !== 'object' || value === null) return null
  const entries: Iterable<[string | number, unknown]> = Array.isArray(value) ? value.entries() : Object.entries(value)
  for (const [name, inner] of entries) {
    const found = lostNumber(inner, below(path, name))
    if (found !== null) return found
  }
  return null
}

/** The end of the text that begins at `start` with a quote. */
function endOfText(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); ; end = json.indexOf('"', end + 1)) {
    let slashes = 0
    while (json[end - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return end
  }
}

/** The path of the first key that occurs earlier in its object. `json` is valid. */
function repeatedKey(json: string): string | null {
  type Level = { keys: Set<string> | null; name: string | number }
  const levels: Level[] = []
  let isKey = false
  for (let i = 0; i < json.length; i++) {
    const sign = json[i]
    const level = levels.at(-1)
    if (sign === '"') {
      const end = endOfText(json, i)
      if (isKey && level?.keys) {
        const text = json.slice(i + 1, end)
        level.name = text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
        if (level.keys.has(level.name)) return levels.reduce((path, { name }) => below(path, name), '')
        level.keys.add(level.name)
        isKey = false
      }
      i = end
    } else if (sign === '{' || sign === '[') {
      levels.push(sign === '{' ? { keys: new Set(), name: '' } : { keys: null, name: 0 })
      isKey = sign === '{'
    } else if (sign === '}' || sign === ']') {
      levels.pop()
      isKey = false
    } else if (sign === ',' && level) {
      isKey = level.keys !== null
      if (typeof level.name === 'number') level.name++
    }
  }
  return null
}

/**
 * The first key or number in `json` that its parsed `value` lacks. `keys`: the number of keys in the bytes; `pause` lets other requests run
 * between two passes over a long body.
 */
export async function lossOf(json: string, value: unknown, keys: number, pause: () => Promise<void>): Promise<Detail | null> {
  const found = lookInto(value)
  if (found.keys !== keys) {
    await pause()
    const field = repeatedKey(json)
    if (field !== null) return { field: fieldOf(field), message: 'is given twice in one object' }
  }
  if (!found.losesNumbers) return null
  return { field: fieldOf(lostNumber(value, '') ?? ''), message: `must lie within ±${Number.MAX_SAFE_INTEGER}, as every whole number` }
}
