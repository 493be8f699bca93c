import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const ROOT = new URL('../../', import.meta.url)

const sources = ['api', 'app', 'cli', 'domain', 'store', 'workers', 'workflows'].flatMap(room =>
  readdirSync(new URL(room, ROOT), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => ({ file: `${room}/${name}`, text: readFileSync(new URL(`${room}/${name}`, ROOT), 'utf8') })),
)
// A restored dump has the claims of processes that no longer exist: the restore ends these claims before the service starts.
const others = sources.filter(({ file }) => !file.startsWith('domain/durable/jobs/') && file !== 'store/dump/load.ts')
const OWNER_ALONE: [what: string, sql: RegExp][] = [
  ['writes the due table', /\b(insert\s+into|update|delete\s+from|truncate)\s+due\b/i],
  ['locks rows of the due table', /\b(from|join)\s+due\b[^`]*\bfor\s+(no\s+key\s+update|update|share|key\s+share)\b/i],
  ['asks for a fence of the due table', /\b(from|join)\s+due\b[^`]*\bfence\s*[=<>]|\bd\.fence\b/i],
  ['announces jobs', /notifyAfterCommit\([^)]*JOB_CHANNEL/],
]

test.each(OWNER_ALONE)('only domain/durable/jobs %s', (_what, sql) => {
  expect(sources.filter(({ text }) => sql.test(text)).length).toBeGreaterThan(0)
  expect(others.filter(({ text }) => sql.test(text)).map(({ file }) => file)).toEqual([])
})

test('only store/notify.ts notifies: a transaction that does holds up the commits of the whole cluster', () => {
  expect(sources.filter(({ text }) => /\bpg_notify\b|query\([`'"]notify /i.test(text)).map(({ file }) => file)).toEqual(['store/notify.ts'])
})

// Up to Postgres 16 such a plan takes the index for its order alone and reads every row of the table: `lockInOrder` probes it for each key.
test('no statement filters by an array the rows that it locks in the order of the same column', () => {
  const filtered = /\b((?:\w+\.)?\w+) = any ?\((?!\$\{)[^`;]{0,700}?\border by \1 for (no key update|update|key share|share)\b/
  expect('select 1 from t where id = any ($1) and a = $2 order by id for update').toMatch(filtered)
  expect(sources.filter(({ text }) => filtered.test(text)).map(({ file }) => file)).toEqual([])
})

test('ids that are given as an array of texts are locked in the order of their columns', () => {
  const otherOrder = /keys: [`']\$\d::text\[\]/
  expect(`lockInOrder({ keys: '$2::text[]' })`).toMatch(otherOrder)
  expect(sources.filter(({ text }) => otherOrder.test(text)).map(({ file }) => file)).toEqual([])
})
