import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DISK_MARK } from '../../../store/files/disk-mark.ts'
import { openDiskStorage } from '../../../store/files/open-disk.ts'
import type { TestApi } from '../../harness/api.ts'
import { type Erasing, startErasing } from '../../harness/erasing.ts'
import { eraseUser, erasuresEnded } from '../../harness/erasure.ts'
import { exportAll, storedFiles, WHOLE_YEAR } from '../../harness/exports.ts'
import { unmount } from '../../harness/outage.ts'
import { until } from '../../harness/until.ts'

let erasing: Erasing
let api: TestApi
let environment: number
let ids: Record<string, string>
beforeEach(async () => {
  erasing = await startErasing()
  ;({ api, environment, ids } = erasing)
})
afterEach(() => erasing.stop())

const advance = (interval: string) => api.pool.query('update environments set clock_offset = clock_offset + $1::interval', [interval])
const failedRuns = async (workflow: string): Promise<number> =>
  (await api.pool.query(`select 1 from runs where workflow = $1 and status = 'failed'`, [workflow])).rowCount ?? 0
const ready = async () => (await fetch(`${api.url}/readyz`)).json()
const removed = (id: string) =>
  until('the file is removed', async () => {
    const { rowCount } = await api.pool.query('select 1 from exports where id = $1 and file_removed_at is not null', [id])
    return rowCount || undefined
  })

test('a storage that fails when a file expires: the removal is attempted every hour until the file is gone, and is visible meanwhile', async () => {
  await erasing.work()
  const { object } = await exportAll(api, WHOLE_YEAR)
  await erasing.rest()
  expect(await ready()).toMatchObject({ status: 'ok', unremoved_files: 0 })
  let attempts = 0
  await erasing.work({
    remove: async () => {
      attempts++
      throw Object.assign(new Error('down'), { code: 'EIO' })
    },
  })
  await advance('8 days')
  await until('the run has failed', async () => (await failedRuns('export-retention')) === 1 || undefined)
  expect(attempts).toBe(5)
  expect(await ready()).toMatchObject({ status: 'degraded', unremoved_files: 1 })
  expect(await (await fetch(`${api.url}/metrics`)).text()).toContain('perennial_unremoved_files 1')
  await advance('1 hour')
  await until('the next run has failed', async () => (await failedRuns('export-retention')) === 2 || undefined)
  await erasing.rest()
  expect(await storedFiles(api.files)).toEqual([object.id])
  await advance('1 hour')
  await erasing.work()
  await removed(object.id)
  expect(await storedFiles(api.files)).toEqual([])
  expect(await ready()).toMatchObject({ unremoved_files: 0 })
  // The record goes 83 days after the file, whatever the number of attempts.
  await advance('83 days')
  await until('the record is removed', async () => ((await api.call('GET', `/v4/exports/${object.id}`)).status === 404 ? true : undefined))
})

test('an erasure removes a file that expired days ago and could not be removed then', async () => {
  await erasing.work()
  const { object } = await exportAll(api, WHOLE_YEAR)
  await erasing.rest()
  await advance('30 days')
  await api.pool.query(`delete from due where kind = 'export-retention'`)
  expect(await erasing.tracesLeft(ids.anna!)).not.toEqual([])
  await eraseUser(api.pool, environment, ids.anna!)
  await erasing.work()
  await erasuresEnded(api.pool)
  expect(await storedFiles(api.files)).toEqual([])
  expect(await erasing.tracesLeft(ids.anna!)).toEqual([])
  expect((await api.call('GET', `/v4/exports/${object.id}`)).body.status).toBe('done')
})

test('an erasure does not look at an export whose file is removed', async () => {
  await erasing.work()
  const { object } = await exportAll(api, WHOLE_YEAR)
  await advance('8 days')
  await removed(object.id)
  await eraseUser(api.pool, environment, ids.anna!)
  expect(await erasing.runsOf()).toEqual([])
})

test('an unmounted folder: a file in it does not count as removed, neither by retention nor by an erasure', async () => {
  await erasing.work()
  const { object } = await exportAll(api, WHOLE_YEAR)
  const mount = await unmount(api.files)
  await advance('8 days')
  await eraseUser(api.pool, environment, ids.anna!)
  await until('both runs have failed', async () =>
    (await failedRuns('export-retention')) > 0 && (await failedRuns('erase-export')) > 0 ? true : undefined,
  )
  expect(await readdir(api.files)).toEqual([])
  await mount()
  expect(await storedFiles(api.files)).toEqual([object.id])
  await advance('1 hour')
  await removed(object.id)
  await erasuresEnded(api.pool)
  expect(await storedFiles(api.files)).toEqual([])
})

test('a folder that is unmounted while a part is written: the part does not count as written', async () => {
  let mount = async () => {}
  async function* content() {
    yield Buffer.from('one')
    mount = await unmount(api.files)
    yield Buffer.from('two')
  }
  const written = api.storage.writePart('a', '1.1', content(), new AbortController().signal)
  await expect(written).rejects.toMatchObject({ code: 'EIO' })
  await mount()
})

test('a start marks the folder of export files once, and never creates it again in place of one that is not mounted', async () => {
  const missing: string[] = []
  const open = () => openDiskStorage(api.pool, api.files, sentence => missing.push(sentence))
  const mark = await readFile(join(api.files, DISK_MARK), 'utf8')
  await open()
  expect(missing).toEqual([])
  await rm(api.files, { recursive: true })
  const storage = await open()
  expect(missing).toEqual([expect.stringContaining(`the export files are not in ${api.files}`)])
  await expect(storage.remove('a')).rejects.toMatchObject({ code: 'EIO' })
  const never = new AbortController().signal
  await expect(storage.writePart('a', '1.1', (async function* () {})(), never)).rejects.toMatchObject({ code: 'EIO' })
  await mkdir(api.files)
  await expect(storage.remove('a')).rejects.toMatchObject({ code: 'EIO' })
  expect(await storedFiles(api.files)).toEqual([])
  // The operator puts the mark into a new folder: the files are lost for good.
  expect(missing[0]).toContain(mark.trim())
  const other = await openDiskStorage(api.pool, `${api.files}-other`, () => {})
  await expect(other.remove('a')).rejects.toMatchObject({ code: 'EIO' })
})

test('services that start together mark one folder, and a new database adopts the mark of its folder', async () => {
  await api.pool.query('delete from file_folder')
  const mark = await readFile(join(api.files, DISK_MARK), 'utf8')
  const missing: string[] = []
  await Promise.all([1, 2, 3].map(() => openDiskStorage(api.pool, api.files, sentence => missing.push(sentence))))
  expect(missing).toEqual([])
  expect((await api.pool.query('select mark from file_folder')).rows).toEqual([{ mark: mark.trim() }])
  await rm(join(api.files, DISK_MARK))
  await api.pool.query('delete from file_folder')
  await Promise.all([1, 2, 3].map(() => openDiskStorage(api.pool, api.files, sentence => missing.push(sentence))))
  expect(missing).toEqual([])
})
