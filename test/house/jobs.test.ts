import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const ROOT = new URL('../../', import.meta.url)

const sources = ['api', 'app', 'cli', 'domain', 'store', 'workers', 'workflows'].flatMap(room =>
  readdirSync(new URL(room, ROOT), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => ({ file: `${room}/${name}`, text: readFileSync(new URL(`${room}/${name}`, ROOT), 'utf8') })),
)
// A restored dump has the claims of processes that no longer exist: the restore ends these claims before the service starts.
const others = sources.filter(({ file }) => !file.startsWith('domain/jobs/') && file !== 'store/dump/load.ts')
const OWNER_ALONE: [what: string, sql: RegExp][] = [
  ['writes the due table', /\b(insert\s+into|update|delete\s+from|truncate)\s+due\b/i],
  ['locks rows of the due table', /\b(from|join)\s+due\b[^`]*\bfor\s+(no\s+key\s+update|update|share|key\s+share)\b/i],
  ['asks for a fence of the due table', /\b(from|join)\s+due\b[^`]*\bfence\s*[=<>]|\bd\.fence\b/i],
  ['announces jobs', /notifyAfterCommit\([^)]*JOB_CHANNEL/],
]

test.each(OWNER_ALONE)('only domain/jobs %s', (_what, sql) => {
  expect(sources.filter(({ text }) => sql.test(text)).length).toBeGreaterThan(0)
  expect(others.filter(({ text }) => sql.test(text)).map(({ file }) => file)).toEqual([])
})

test('only store/notify.ts notifies: a transaction that does holds up the commits of the whole cluster', () => {
  expect(sources.filter(({ text }) => /\bpg_notify\b|query\([`'"]notify /i.test(text)).map(({ file }) => file)).toEqual(['store/notify.ts'])
})
