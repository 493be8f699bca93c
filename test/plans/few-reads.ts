// A table has no statistics from its first import until its first analyze, and a crash of the server puts that off. Every statement of the
// service must read about as many rows without statistics as with them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { TestServer } from '../harness/database.ts'
import { driveAll } from '../harness/drive-all.ts'
import { explainAll } from '../harness/explained.ts'
import { fillEnvironment } from '../harness/full-environment.ts'

/** Rows that a statement may read beyond three times those of its analyzed plan: a whole table of a catalogue, but no other. */
const SLACK = 1_200

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
    await fillEnvironment(api.pool, api.project.sandboxEnvironment)
  }, 120_000)
  afterAll(async () => {
    await api.stop()
    explained.stop()
  })

  test('every statement reads as few rows without statistics as with them', { timeout: 600_000 }, async () => {
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
  })
}
