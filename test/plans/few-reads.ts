// A table has no statistics from its first import until its first analyze, and a crash of the server puts that off. Every statement of the
// service must read about as many rows without statistics as with them. And what is done with a few jobs must not read the jobs that wait,
// however many they are: a plan that takes an index for its order alone, or for the kind alone, reads all of them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { TestServer } from '../harness/database.ts'
import { driveAll } from '../harness/drive-all.ts'
import { explainAll, type Worst } from '../harness/explained.ts'
import { fillWithWaitingJobs } from '../harness/waiting-jobs.ts'

/** Rows that a statement may read beyond three times those of its analyzed plan: a whole table of a catalogue, but no other. */
const SLACK = 1_200
/** Pages of 8 kB that no statement reads more of. An index of a million jobs has as many in each 100 MB of it: 12,800. */
const MOST_PAGES = 4_000
/** Rows that no statement reads more of: those of every table but that of the jobs, three times. */
const MOST_ROWS = 62_000

const tooMuch = (worst: Worst) =>
  [...worst.values()].flatMap(({ rows, pages }) => [
    ...(rows.rows > MOST_ROWS ? [`${rows.text}\n${rows.rows} rows\n${rows.plan}`] : []),
    ...(pages.pages > MOST_PAGES ? [`${pages.text}\n${pages.pages} pages\n${pages.plan}`] : []),
  ])

export function testReads(server: TestServer): void {
  let api: TestApi
  let explained: Awaited<ReturnType<typeof explainAll>>
  beforeAll(async () => {
    api = await startApi({
      server,
      worker: true,
      leaseMs: 30_000,
      beforeConnecting: async pool => (explained = await explainAll(pool, server)),
    })
    await fillWithWaitingJobs(api.pool, api.project.sandboxEnvironment)
  }, 300_000)
  afterAll(async () => {
    await api.stop()
    explained.stop()
  })

  test('every statement reads as few rows without statistics as with them, and not the jobs that wait', { timeout: 400_000 }, async () => {
    explained.taken()
    await driveAll(api)
    const without = explained.taken()
    await api.pool.query('analyze')
    explained.taken()
    await driveAll(api)
    const analyzed = explained.taken()
    // Otherwise the two drives did not do the same, and nothing is compared.
    expect([...without.keys()].filter(text => analyzed.has(text)).length).toBeGreaterThan(400)
    const analyzedRows = (text: string) => analyzed.get(text)?.rows.rows ?? 0
    const bad = [...without.values()].filter(({ rows }) => rows.rows > 3 * analyzedRows(rows.text) + SLACK)
    expect(bad.map(({ rows: { text, rows, plan } }) => `${text}\n${rows} rows, analyzed ${analyzedRows(text)}\n${plan}`)).toEqual([])
    expect({ without: tooMuch(without), analyzed: tooMuch(analyzed) }).toEqual({ without: [], analyzed: [] })
  })
}
