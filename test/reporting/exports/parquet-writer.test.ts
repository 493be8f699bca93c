import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ParquetColumn, writeParquet } from '../../../store/files/parquet.ts'
import { markTimesAsUtc } from '../../../store/files/parquet-times.ts'
import { readParquet } from '../../harness/parquet.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perennial-writer-'))
})
afterEach(() => rm(folder, { recursive: true }))

const COLUMNS: ParquetColumn[] = [
  { name: 'n', type: 'integer' },
  { name: 'at', type: 'time' },
  { name: 'words', type: 'text' },
]
const line = (n: number, words: string) => `${n},2026-01-01 00:00:00,${words}\n`

async function write(files: string[], rows: number, { inside = folder, signal = AbortSignal.timeout(60_000) } = {}): Promise<string> {
  const sources = await Promise.all(
    files.map(async (text, i) => {
      const path = join(inside, `${i}.1`)
      await writeFile(path, text)
      return path
    }),
  )
  const target = join(inside, 'target')
  await writeParquet({ sources, columns: COLUMNS, rows, target, spill: join(folder, 'spill'), signal })
  return target
}

test('files in their order, empty ones too; a quoted empty field is an empty text, an unquoted one is null', async () => {
  const target = await write([line(3, '""') + line(1, ''), '', line(2, '"a\n""b"""')], 3)
  expect((await readParquet(await readFile(target))).rows.map(row => [Number(row.n), row.words])).toEqual([
    [3, ''],
    [1, null],
    [2, 'a\n"b"'],
  ])
})

test('the order of the sources is kept over many sources and over row groups', async () => {
  const of = (file: number) => Array.from({ length: 100 }, (_, n) => line(file * 100 + n, `${n}`)).join('')
  const target = await write(
    Array.from({ length: 400 }, (_, file) => of(file)),
    40_000,
  )
  const { rows } = await readParquet(await readFile(target))
  expect(rows.map(row => Number(row.n))).toEqual(Array.from({ length: 40_000 }, (_, n) => n))
})

test('a folder name that looks like a pattern or contains quotes is taken literally', async () => {
  const inside = join(folder, "[a]*?'{b}")
  await mkdir(inside)
  await mkdir(join(folder, "a-'{b}"))
  await writeFile(join(folder, "a-'{b}", '0.1'), line(9, 'wrong'))
  const target = await write([line(1, 'x'), line(2, 'y')], 2, { inside })
  expect((await readParquet(await readFile(target))).rows.map(row => row.words)).toEqual(['x', 'y'])
})

test('rows of 40 KB: far fewer fit into memory than one row group has', async () => {
  await write([Array.from({ length: 2200 }, (_, n) => line(n, `${1000 + n}`.repeat(10_000 + (n % 10)))).join('')], 2200)
  expect((await readdir(folder)).sort()).toEqual(['0.1', 'target'])
})

test('a missing or truncated source is a storage error', async () => {
  const at = {
    columns: COLUMNS,
    rows: 1,
    target: join(folder, 'target'),
    spill: join(folder, 'spill'),
    signal: AbortSignal.timeout(60_000),
  }
  await expect(writeParquet({ ...at, sources: [join(folder, 'nothing')] })).rejects.toMatchObject({ code: 'EIO' })
  await expect(write([line(1, 'x') + line(2, '"cut')], 2)).rejects.toMatchObject({ code: 'EIO' })
})

test('an abort ends the writing before its end', async () => {
  const control = new AbortController()
  const text = Array.from({ length: 300_000 }, (_, n) => line(n, `word ${n}`)).join('')
  const writing = write([text, text, text, text], 1_200_000, { signal: control.signal })
  const begun = async () => (await readdir(folder)).find(name => name.endsWith('target'))
  while (!(await begun())) await new Promise(resolve => setTimeout(resolve, 1))
  control.abort(new Error('the lease was lost'))
  await expect(writing).rejects.toThrow('the lease was lost')
  // Without the abort the file would exist.
  expect(await readdir(folder)).not.toContain('target')
})

test('a writer that describes times differently is detected', async () => {
  const target = await write([line(1, 'x')], 1)
  await expect(markTimesAsUtc(target, 1)).rejects.toThrow('0 columns of local milliseconds, not 1')
})
