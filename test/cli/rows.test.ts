import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { batches } from '../../cli/import/batches.ts'
import type { ToItem } from '../../cli/import/item.ts'
import { identify, type Row, readHeader, readRows } from '../../cli/import/rows.ts'
import { share } from '../harness/effort.ts'
import { temporaryFolder } from './call.ts'

const all = async (path: string, from: { n: number; end: number }) => {
  const rows: Row[] = []
  for await (const row of readRows(path, ',', from)) rows.push(row)
  return rows
}

const value = fc
  .oneof(fc.constantFrom('', 'a', 'é', '😀', '"', ',', 'x\ny', '\r\n', ' '), fc.string({ maxLength: 5 }))
  .map(text => text.replaceAll('\uFEFF', ''))
const quoted = (text: string) => (text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

test('a file read on from behind any row gives the rest of it', async () => {
  const path = join(await temporaryFolder(), 'some.csv')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(value, value), { maxLength: 8 }),
      fc.constantFrom('\n', '\r\n'),
      fc.boolean(),
      fc.boolean(),
      async (values, newline, hasMark, endsOpen) => {
        const lines = [['näme', 'b'], ...values].map(row => row.map(quoted).join(','))
        await writeFile(path, `${hasMark ? '\uFEFF' : ''}${lines.join(newline)}${endsOpen ? '' : newline.repeat(2)}`)
        const header = await readHeader(path, ',')
        expect(header.columns).toEqual(['näme', 'b'])
        const rows = await all(path, { n: 0, end: header.end })
        expect(rows.map(row => row.values)).toEqual(values)
        expect(rows.map(row => row.n)).toEqual(values.map((_, i) => i + 1))
        for (const row of rows) expect(await all(path, row)).toEqual(rows.slice(row.n))
      },
    ),
    { numRuns: share(60) },
  )
})

test('a row that is not valid CSV is reported with its number', async () => {
  const path = join(await temporaryFolder(), 'bad.csv')
  await writeFile(path, 'a,b\n1,2\n3,x"y\n')
  const header = await readHeader(path, ',')
  await expect(all(path, { n: 0, end: header.end })).rejects.toThrow(/bad\.csv: row 2 is not valid CSV: /)
  await writeFile(path, `a,b\n1,"${'x'.repeat(5_000_000)}`)
  await expect(all(path, { n: 0, end: 4 })).rejects.toThrow(/row 1 is longer than 4194304 bytes: is a quote not closed/)
  await writeFile(path, '')
  await expect(readHeader(path, ',')).rejects.toThrow('is empty')
  await writeFile(path, Buffer.from('\uFEFFa,b', 'utf16le'))
  await expect(identify(path)).rejects.toThrow('is UTF-16')
  await expect(identify('/dev/null')).rejects.toThrow('is not a regular file')
})

test('no batch is larger than a request may be', async () => {
  async function* rows() {
    for (const [i, length] of [30, 30, 30, 100, 10, 10, 10, 10].entries()) yield { n: i + 1, values: ['x'.repeat(length)], end: i }
  }
  const item: ToItem = ([text = ''], row) => (row === 5 ? { is: 'fault', field: 'f', reason: 'r' } : { is: 'item', json: text })
  const made = []
  for await (const { items, bad, last } of batches(rows(), item, 3, 64))
    made.push([items.map(({ row }) => row.n), bad.map(({ row }) => row.n), last])
  expect(made).toEqual([
    [[1, 2], [], 2],
    [[3], [], 3],
    [[6], [4, 5], 6],
    [[7, 8], [], 8],
  ])
})
