// Invalid input: mutated bodies, broken JSON, odd addresses.
import fc from 'fast-check'

const nested = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)

/** Values that often break servers. */
const VALUES: unknown[] = [
  null,
  true,
  0,
  -1,
  0.1,
  1e308,
  -1e308,
  2 ** 53,
  2 ** 63,
  '',
  ' ',
  '0',
  '\0',
  'a\0b',
  '\ud800',
  '\udc00\ud800',
  '\ufeff',
  '\u202e',
  'a\u0301'.repeat(100),
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}'.repeat(50),
  'x'.repeat(10_000),
  "'; drop table users; --",
  '%00',
  '../../etc/passwd',
  '${jndi:ldap://x}',
  '__proto__',
  'constructor',
  '.',
  '..',
  'QON_00000000000000000000000000000000',
  '9999999999999999999',
  '9223372036854775808',
  '1e999',
  'NaN',
  '2026-02-30T00:00:00Z',
  '9999-12-31T23:59:60Z',
  '0000-01-01T00:00:00Z',
  '+275760-09-13T00:00:00Z',
  '9999-12-31T23:59:59-23:59',
  '2026-03-01T09:00:00+23:59',
  `2026-03-01T09:00:00.${'1'.repeat(150)}Z`,
  'P99999999Y',
  [],
  {},
  [null],
  [[]],
  { a: 1 },
  JSON.parse('{"__proto__":{"a":1},"constructor":{}}'),
  nested(60),
  nested(100),
]
const value = fc.oneof(
  fc.constantFrom(...VALUES),
  fc.anything({ maxDepth: 2, withNullPrototype: false }).map(made => JSON.parse(JSON.stringify(made) ?? 'null')),
)

type Path = (string | number)[]

/** The paths of all parts of a value, itself included. */
const pathsOf = (value: unknown, at: Path = []): Path[] => [
  at,
  ...(typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...at, Array.isArray(value) ? Number(key) : key]))
    : []),
]

type Change = { at: number; how: 'replace' | 'remove' | 'add' | 'wrap' | 'repeat'; value: unknown }
const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(1000),
  how: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'wrap', 'repeat'),
  value,
})

function edit(root: unknown, path: Path, replace: (value: unknown, remove: symbol) => unknown, remove = Symbol()): unknown {
  const [key, ...rest] = path
  if (key === undefined) return replace(root, remove)
  const inner = edit((root as Record<string, unknown>)[key], rest, replace, remove)
  if (Array.isArray(root)) return inner === remove ? root.filter((_, n) => n !== key) : root.with(Number(key), inner)
  const { [key]: _, ...others } = root as Record<string, unknown>
  return inner === remove ? others : { ...others, [key]: inner }
}

function apply(body: unknown, { at, how, value }: Change): unknown {
  const all = pathsOf(body)
  const path = all[at % all.length]!
  return edit(body, path, (present, remove) => {
    if (how === 'replace' || (how === 'remove' && path.length === 0)) return value
    if (how === 'remove') return remove
    if (how === 'wrap') return [present]
    if (how === 'repeat') return Array(1001).fill(present)
    return typeof present === 'object' && present !== null && !Array.isArray(present) ? { ...present, [String(value)]: value } : value
  })
}

/** Changes of a valid body, applied in order. */
export const bodyChanges = fc.array(change, { minLength: 1, maxLength: 3 }).map(changes => ({
  apply: (body: unknown) => changes.reduce(apply, body),
  toString: () => JSON.stringify(changes).slice(0, 500),
}))

/** Bodies that are not a JSON document, or cannot be parsed, with their media type. */
export const RAW: { raw: string | Uint8Array; type?: string }[] = [
  { raw: '{' },
  { raw: '{"a":1,}' },
  { raw: '{}{}' },
  { raw: 'NaN' },
  { raw: '\ufeff{}' },
  { raw: new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]) },
  { raw: new Uint8Array([0, 0, 0]) },
  { raw: '['.repeat(100_000) },
  { raw: `{"a":${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}}` },
  { raw: '{"a":1e999999}' },
  { raw: '{"a":"\\ud800"}' },
  { raw: 'null' },
  { raw: '[]' },
  { raw: '"text"' },
  { raw: '{"environment":"prod","environment":7}' },
  { raw: ' '.repeat(2_000_000) },
  { raw: '{}', type: 'text/plain' },
  { raw: '{}', type: 'application/json; charset=utf-16' },
  { raw: 'a=1', type: 'application/x-www-form-urlencoded' },
]

const NAMES = ['a', '', '__proto__', 'toString', 'limit[]', 'limit', 'filter', 'filter[', 'starting_after', 'X'.repeat(2000), 'ä']
const TEXTS = [
  ...VALUES.filter(text => typeof text === 'string' && text.isWellFormed()).map(text => encodeURIComponent(text as string)),
  '%',
  '%zz',
  '%c3%28',
  '%ed%a0%80',
  '%00',
  '+',
  '&',
  '==',
  '1&limit=2',
  '0x10',
  '-0',
  '01',
  '1.0',
  '١',
  '%F0%9F%98%80',
  'y'.repeat(15_000),
]

/** A raw query string with known and unknown names. */
export const search = (known: string[]) =>
  fc
    .array(fc.tuple(fc.constantFrom(...NAMES, ...known, ...known), fc.constantFrom(...TEXTS)), { minLength: 1, maxLength: 4 })
    .map(pairs => pairs.map(([name, text]) => `${name}=${text}`).join('&'))

/** A raw segment of a path. `.` and `..` are left out: every client resolves them as steps of the address. */
export const segment = fc.constantFrom(
  ...TEXTS.filter(text => !['', '.', '..', '&', '==', '../../etc/passwd'].includes(text)),
  'a%2Fb',
  'a%5Cb',
  '%2525',
  'a;b=c',
  'null',
  'undefined',
  '0',
  '00000000000000000001',
  'x'.repeat(257),
)
