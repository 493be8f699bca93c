import { describe, expect, test } from 'vitest'
import { type Count, type Filter, keptRows, userOfRow } from '../../../workflows/export/kept-rows.ts'

const LONG = 'x'.repeat(300)
const csvRow = (user: string, note: string) =>
  `2026-01-01 00:00:00,,,"${note}",App "it",iOS,,"a, b",,USD,1.00,1.00,1.00,1.00,false,${user},anna,,,,,,,,,,,,,"{""q_user_id"":""gone""}",z\n`
const NOTES = ['plain', 'line\nfeed', 'quote "" quote', 'comma, ""\n"" 手机 🍏\r\n', LONG]
const HEADER = 'Event Date,"Transaction\nID",Rest\n'

async function filtered(text: string, rest: Omit<Filter, 'isErased'>, size: number): Promise<[string, Count]> {
  const bytes = Buffer.from(text)
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  const userOf = userOfRow(rest.format, 'events')
  const count: Count = { kept: 0, erased: 0, isChanged: false }
  const pieces: Buffer[] = []
  for await (const piece of keptRows(chunks(), { ...rest, isErased: row => userOf(row) === 'gone' }, count)) pieces.push(Buffer.from(piece))
  return [Buffer.concat(pieces).toString(), count]
}

const USERS = ['gone', 'stays', '', 'gone', 'gone', 'gone-not', 'gone', 'x', 'y', 'gone']
const left = USERS.filter(user => user !== 'gone').length

// The storage may cut its chunks anywhere: in a quoted line feed, a doubled quote, a character of several bytes.
describe.each([1, 2, 3, 7, 64, 1000, 1_000_000])('in chunks of %i bytes', size => {
  test('csv: rows end outside quotes, the header stays', async () => {
    const rows = USERS.map((user, i) => csvRow(user, NOTES[i % NOTES.length]!))
    const kept = rows.filter((_, i) => USERS[i] !== 'gone').join('')
    const given = { format: 'csv', isFirst: true, isContinued: false } as const
    expect(await filtered(HEADER + rows.join(''), given, size)).toEqual([
      HEADER + kept,
      { kept: left, erased: USERS.length - left, isChanged: true },
    ])
    expect((await filtered(rows.join(''), { ...given, isFirst: false, isContinued: true }, size))[0]).toBe(kept)
  })

  const objectOf = (user: string, note: string) =>
    JSON.stringify({ note, device: '"q_user_id":"gone"\\', q_user_id: user || null, user_properties: { q_user_id: 'gone' } })
  const objects = USERS.map((user, i) => objectOf(user, NOTES[i % NOTES.length]!))
  const others = objects.filter((_, i) => USERS[i] !== 'gone')

  test('ndjson: only the column of the user id counts', async () => {
    const [text] = await filtered(objects.map(line => `${line}\n`).join(''), { format: 'ndjson', isFirst: true, isContinued: false }, size)
    expect(text).toBe(others.map(line => `${line}\n`).join(''))
  })

  test('json: always an array, also over several parts', async () => {
    const rows = objects.map((line, i) => `${i > 0 ? ',' : ''}${line}\n`)
    const parts = [`[${rows.slice(0, 1).join('')}`, rows.slice(1, 4).join(''), rows.slice(4).join(''), ']\n']
    let whole = ''
    let isContinued = false
    for (const [i, part] of parts.entries()) {
      const [text, count] = await filtered(part, { format: 'json', isFirst: i === 0, isContinued }, size)
      whole += text
      isContinued ||= count.kept > 0
    }
    expect(whole).toBe(`[${others.map((line, i) => `${i > 0 ? ',' : ''}${line}\n`).join('')}]\n`)
    for (const empty of ['[]\n', '[', ']\n'])
      expect(await filtered(empty, { format: 'json', isFirst: empty[0] === '[', isContinued: false }, size)).toEqual([
        empty,
        { kept: 0, erased: 0, isChanged: false },
      ])
    const [none, count] = await filtered(`[${objectOf('gone', 'a')}\n]\n`, { format: 'json', isFirst: true, isContinued: false }, size)
    expect([none, count]).toEqual(['[]\n', { kept: 0, erased: 1, isChanged: true }])
  })
})

test('rows that stay keep their bytes', async () => {
  const rows = ['a', 'b', ''].map(user => csvRow(user, 'x')).join('')
  expect(await filtered(rows, { format: 'csv', isFirst: false, isContinued: false }, 50)).toEqual([
    rows,
    { kept: 3, erased: 0, isChanged: false },
  ])
})
