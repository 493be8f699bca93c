import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { share } from '../../harness/effort.ts'
import { QUICK } from '../../harness/engine-fixture.ts'
import { eraseUser, erasuresEnded, filesWith } from '../../harness/erasure.ts'
import { item } from '../../harness/events.ts'
import { type Exported, exportAll, finished, WHOLE_YEAR } from '../../harness/exports.ts'
import { readParquet } from '../../harness/parquet.ts'
import { tracesOf } from '../../harness/traces.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 15_000, partRows: 7, policies: QUICK })
})
afterAll(() => api.stop())

const KINDS = ['events', 'purchases', 'customers'].flatMap(type => [
  ...['csv', 'json', 'ndjson'].flatMap(format => ['none', 'gzip'].map(compression => ({ type, format, compression }))),
  { type, format: 'parquet', compression: 'none' },
])

const userOf = async (identity: string, key: string): Promise<string> =>
  (await api.call('GET', `/v4/identities/${identity}`, { key })).body.user_id

/** Posts events of these users, in this order. */
async function post(project: TestProjectKeys, people: string[]): Promise<void> {
  const odd = { product_id: 'pro "year", v2\nline', device: { model: 'iPhöne 手机 [,"q_user_id":"]', country: 'DE' } }
  // One request for each user: the order of the rows in the file is then the order of the requests.
  const events = people.map((who, i) => item({ ...(who && { identity_id: who }), ...(i % 3 === 0 && odd) }))
  for (let i = 0; i < events.length; i += 5)
    await api.call('POST', '/v4/events', { key: project.secret, body: { events: events.slice(i, i + 5) } })
  await api.pool.query(`update users set properties = '{"q_user_id": "nobody", "z": "a\\"b,\\nc"}' where environment = $1`, [
    project.production,
  ])
}

async function exportKinds(project: TestProjectKeys, kinds = KINDS) {
  const made: { kind: (typeof KINDS)[number]; before: Exported }[] = []
  for (const kind of kinds) made.push({ kind, before: await exportAll(api, { ...WHOLE_YEAR, ...kind }, project.secret) })
  return made
}

async function downloaded(project: TestProjectKeys, { object }: Exported): Promise<Exported> {
  const now = (await api.call('GET', object.url, { key: project.secret })).body
  expect({ ...now, manifest: null, rows_written: 0 }).toEqual({ ...object, manifest: null, rows_written: 0 })
  const answer = await fetch(now.file_url)
  const bytes = Buffer.from(await answer.arrayBuffer())
  expect([answer.headers.get('content-length'), answer.headers.get('etag')]).toEqual([String(bytes.length), `"${now.manifest.sha256}"`])
  return { object: now, bytes, sha256: createHash('sha256').update(bytes).digest('hex'), text: bytes.toString() }
}

const textOf = ({ bytes }: Exported, compression: string) => (compression === 'gzip' ? gunzipSync(bytes) : bytes).toString()

/** The expected file without the rows of this user, and its number of rows. */
function without(text: string, format: string, id: string): { text: string; rows: number } {
  if (format === 'csv') {
    const records = parse(text, { raw: true }) as unknown as { raw: string; record: string[] }[]
    const kept = records.filter(({ record }) => !record.includes(id)).map(({ raw }) => raw.replace(/\n?$/, '\n'))
    return { text: kept.join(''), rows: kept.length - 1 }
  }
  const lines = text.split('\n').map(line => (format === 'json' ? line.replace(/^[[,]/, '') : line))
  const kept = lines.filter(line => line.startsWith('{') && !line.includes(id))
  return {
    text:
      format === 'json' ? `[${kept.map((line, i) => `${i > 0 ? ',' : ''}${line}\n`).join('')}]\n` : kept.map(line => `${line}\n`).join(''),
    rows: kept.length,
  }
}

async function expectWithout(project: TestProjectKeys, { kind, before }: { kind: (typeof KINDS)[number]; before: Exported }, id: string) {
  const after = await downloaded(project, before)
  let rows: number
  if (kind.format === 'parquet') {
    const [old, now] = [await readParquet(before.bytes), await readParquet(after.bytes)]
    expect(now.schema).toEqual(old.schema)
    expect(now.rows).toEqual(old.rows.filter(row => row.q_user_id !== id))
    rows = now.rows.length
  } else {
    const wanted = without(textOf(before, kind.compression), kind.format, id)
    expect(textOf(after, kind.compression)).toBe(wanted.text)
    rows = wanted.rows
  }
  expect(after.object).toMatchObject({
    rows_written: rows,
    manifest: { ...before.object.manifest, rows, bytes: after.bytes.length, sha256: after.sha256 },
  })
  expect(rows).toBeLessThan(before.object.rows_written)
}

describe('an erased user', () => {
  test('is in no file of any format; the other rows are unchanged, byte for byte', async () => {
    const project = await api.newProject()
    const mixed = Array.from({ length: 30 }, (_, i) => ['ben', '', 'anna', 'carl', 'dora'][i % 5]!)
    await post(project, [...Array(10).fill('anna'), ...mixed, ...Array(5).fill('ben'), ...Array(10).fill('anna')])
    const anna = await userOf('anna', project.secret)
    const made = await exportKinds(project)
    expect(await filesWith(api.files, anna)).not.toEqual([])
    expect((await api.call('DELETE', `/v4/customers/${anna}`, { key: project.secret })).status).toBe(204)
    await erasuresEnded(api.pool)
    for (const each of made) await expectWithout(project, each, anna)
    expect(await filesWith(api.files, anna)).toEqual([])
    expect(await tracesOf(api.pool, anna)).toEqual([])
    // The storage has only the parts of the files.
    for (const { before } of made) {
      const { rows } = await api.pool.query('select parts, to_erase from exports where id = $1', [before.object.id])
      expect(rows[0].to_erase).toEqual([])
      expect(new Map(rows[0].parts.map((part: { name: string; bytes: number }) => [part.name, part.bytes]))).toEqual(
        await api.storage.sizes(before.object.id),
      )
    }
  })

  test('who was the only user leaves files without rows', async () => {
    const project = await api.newProject()
    await post(project, Array(20).fill('anna'))
    const anna = await userOf('anna', project.secret)
    const made = await exportKinds(
      project,
      KINDS.filter(({ type, compression }) => type === 'customers' || compression === 'none'),
    )
    await eraseUser(api.pool, project.production, anna)
    await erasuresEnded(api.pool)
    for (const each of made) await expectWithout(project, each, anna)
    expect(await filesWith(api.files, anna)).toEqual([])
  })

  test('does not change files without a row of the user', async () => {
    const project = await api.newProject()
    await post(project, ['ben', 'ben', 'carl'])
    const early = await exportAll(api, { ...WHOLE_YEAR }, project.secret)
    const customers = await exportAll(api, { ...WHOLE_YEAR, type: 'customers', format: 'json' }, project.secret)
    await post(project, ['anna'])
    // An export of another platform than the user's. By its offsets alone it may have rows of the user.
    const other = await exportAll(api, { ...WHOLE_YEAR, platform: 'iOS', compression: 'gzip' }, project.secret)
    const parquet = await exportAll(api, { ...WHOLE_YEAR, platform: 'iOS', format: 'parquet' }, project.secret)
    const before = (await api.pool.query(`select count(*) as n from runs where workflow = 'erase-export'`)).rows[0].n
    await eraseUser(api.pool, project.production, await userOf('anna', project.secret))
    expect((await api.pool.query(`select count(*) as n from runs where workflow = 'erase-export'`)).rows[0].n).toBe(before + 2)
    await erasuresEnded(api.pool)
    for (const each of [early, customers, other, parquet]) expect((await downloaded(project, each)).object).toEqual(each.object)
  })

  test('of another environment with the same id does not change the files of this environment', async () => {
    const project = await api.newProject()
    const other = await api.newProject()
    for (const each of [project, other]) {
      await post(each, ['anna', 'ben'])
      await api.pool.query(`update events set user_id = 'same' where environment = $1 and user_id = $2`, [
        each.production,
        await userOf('anna', each.secret),
      ])
      await api.pool.query(`update users set id = 'same' where environment = $1 and identity_id = 'anna'`, [each.production])
    }
    const [ours, theirs] = [await exportAll(api, WHOLE_YEAR, project.secret), await exportAll(api, WHOLE_YEAR, other.secret)]
    await eraseUser(api.pool, project.production, 'same')
    await erasuresEnded(api.pool)
    expect((await downloaded(project, ours)).object.rows_written).toBe(1)
    expect((await downloaded(other, theirs)).object).toEqual(theirs.object)
  })
})

test('many concurrent erasures: no file has a row of an erased user, and the URLs are unchanged', async () => {
  const project = await api.newProject()
  const people = Array.from({ length: share(6) }, (_, i) => `p${i}`)
  await post(project, [...people, ...people, 'stays'])
  const ids = await Promise.all(people.map(who => userOf(who, project.secret)))
  const made = []
  for (const kind of [{ format: 'csv' }, { format: 'json', compression: 'gzip' }, { format: 'parquet' }, { type: 'customers' }])
    made.push(await exportAll(api, { ...WHOLE_YEAR, ...kind }, project.secret))
  await Promise.all(ids.map(id => eraseUser(api.pool, project.production, id)))
  await erasuresEnded(api.pool)
  for (const before of made) expect((await downloaded(project, before)).object.rows_written).toBe(1)
  for (const id of ids) {
    expect(await filesWith(api.files, id)).toEqual([])
    expect(await tracesOf(api.pool, id)).toEqual([])
  }
  for (const { object } of made) {
    const { rows } = await api.pool.query('select parts from exports where id = $1', [object.id])
    expect([...(await api.storage.sizes(object.id)).keys()].sort()).toEqual(rows[0].parts.map((part: { name: string }) => part.name).sort())
  }
})

test('exports are accepted while users are erased: nothing fails, and in the end no file has a row of an erased user', async () => {
  const project = await api.newProject()
  const people = Array.from({ length: share(6) }, (_, i) => `r${i}`)
  await post(project, [...people, ...people, 'stays'])
  const ids = await Promise.all(people.map(who => userOf(who, project.secret)))
  const key = project.secret
  const { id } = (await api.call('POST', '/v4/segments', { key, body: { name: 'All', conditions: [] } })).body
  const types = ['events', 'purchases', 'customers']
  const send = (i: number) =>
    api.call('POST', '/v4/exports', { key, body: { ...WHOLE_YEAR, type: types[i % 3], segment_id: i % 2 ? id : null } })
  const requested = Array.from({ length: share(12) }, (_, i) => i)
  const answers = await Promise.all(
    requested.flatMap(i => [send(i), ...(ids[i] ? [api.call('DELETE', `/v4/customers/${ids[i]}`, { key })] : [])]),
  )
  expect([...new Set(answers.map(answer => answer.status))].sort()).toEqual([202, 204])
  const exports = answers.filter(answer => answer.status === 202).map(answer => answer.body.id)
  for (const each of exports) expect((await finished(api.call, each, key, 60_000)).status).toBe('done')
  await api.pool.query(`update environments set clock_offset = interval '5 minutes' where id = $1`, [project.production])
  await erasuresEnded(api.pool, 60_000)
  for (const user of ids) {
    expect(await filesWith(api.files, user)).toEqual([])
    expect(await tracesOf(api.pool, user)).toEqual([])
  }
  for (const each of exports) expect((await api.call('GET', `/v4/exports/${each}`, { key })).body.manifest.rows).toBe(1)
}, 120_000)
