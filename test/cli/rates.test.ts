import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rates } from '../../cli/rates/command.ts'
import { APP_SECRET, startApi, type TestApi } from '../harness/api.ts'
import { call, start, temporaryFolder } from './call.ts'

let api: TestApi
let env: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  env = { DATABASE_URL: api.databaseUrl, APP_SECRET }
})
afterAll(() => api.stop())

const HEADER = 'date,currency,usd_per_unit\n'
const day = (n: number) => new Date(Date.now() + n * 86_400_000).toISOString().slice(0, 10)

async function importText(text: string | Uint8Array) {
  const path = join(await temporaryFolder(), 'rates.csv')
  await writeFile(path, text)
  const result = await call(rates, [path], env)
  return { ...result, out: result.out.replace(`${path}: `, '') }
}
const stored = async (...currencies: string[]) => {
  const { rows } = await api.pool.query(
    `select currency || ' ' || date || ' ' || trim_scale(usd_per_unit) as rate from currency_rates where currency = any($1) order by currency, date`,
    [currencies],
  )
  return rows.map(row => row.rate as string)
}
const allRates = async () => (await api.pool.query('select currency, date::text, usd_per_unit from currency_rates order by 1, 2')).rows

test('rates are stored once; another value for the same date and currency overwrites', async () => {
  const text = `${HEADER}2026-03-01,EUR,1.0843\n2026-03-02,EUR,1.09\n2026-03-01,JPY,0.0067\n`
  expect(await importText(text)).toEqual({ code: 0, out: '3 rates: 3 added, 0 changed, 0 there already.', notes: '' })
  expect(await importText(text)).toMatchObject({ code: 0, out: '3 rates: 0 added, 0 changed, 3 there already.' })
  const again = await importText(`${HEADER}2026-03-01,EUR,1.08430\n2026-03-02,EUR,1.1\n`)
  expect(again).toMatchObject({ code: 0, out: '2 rates: 0 added, 1 changed, 1 there already.' })
  expect(await stored('EUR', 'JPY')).toEqual(['EUR 2026-03-01 1.0843', 'EUR 2026-03-02 1.1', 'JPY 2026-03-01 0.0067'])
})

test('a file of a spreadsheet: byte order mark, CRLF, blanks and blank lines, quotes, no line end at the end', async () => {
  const text = `\ufeffDate,Currency,USD_per_unit\r\n\r\n2026-03-01, GBP ,1.25\r\n"2026-03-02","GBP","1.26"`
  expect(await importText(text)).toMatchObject({ code: 0, out: '2 rates: 2 added, 0 changed, 0 there already.' })
  expect(await stored('GBP')).toEqual(['GBP 2026-03-01 1.25', 'GBP 2026-03-02 1.26'])
})

test("the European Central Bank's history becomes USD per unit, rounded half away from zero to 15 decimals", async () => {
  const text = `Date,USD,CHF,CYP,IDR,SEK,
2026-02-03,1.2,0.9,N/A,20000,N/A,
2026-02-02,1.1,0.7,0.58,N/A,11,
2026-02-01,N/A,N/A,N/A,N/A,N/A,
`
  const result = await importText(text)
  expect(result).toMatchObject({ code: 0, out: '6 rates: 6 added, 0 changed, 0 there already.' })
  expect(result.notes).toBe('left out, because no transaction has these currencies: CYP')
  expect(await stored('CHF', 'IDR', 'SEK', 'CYP', 'USD')).toEqual([
    'CHF 2026-02-02 1.571428571428571',
    'CHF 2026-02-03 1.333333333333333',
    'IDR 2026-02-03 0.00006',
    'SEK 2026-02-02 0.1',
  ])
  expect((await stored('EUR')).slice(0, 2)).toEqual(['EUR 2026-02-02 1.1', 'EUR 2026-02-03 1.2'])
})

test('more than 15 decimals are rounded half away from zero', async () => {
  await importText(`${HEADER}2026-03-01,KRW,0.0000000000000005\n`).then(result => expect(result.code).toBe(2))
  await importText(`${HEADER}2026-03-01,KRW,0.0007000000000005\n2026-03-02,KRW,0.00070000000000049999\n`)
  expect(await stored('KRW')).toEqual(['KRW 2026-03-01 0.000700000000001', 'KRW 2026-03-02 0.0007'])
})

test('every bad line is reported with its number, and nothing is stored', async () => {
  const before = await allRates()
  const bad = [
    ['2026-03-01,EUR,0', 'the rate "0" must be a decimal above 0 such as 1.0843'],
    ['2026-03-01,EUR,0.000', 'the rate "0.000" must be a decimal above 0'],
    ['2026-03-01,EUR,-1.1', 'the rate "-1.1" must be a decimal above 0'],
    ['2026-03-01,EUR,1e3', 'the rate "1e3" must be a decimal'],
    ['2026-03-01,EUR,NaN', 'the rate "NaN" must be'],
    ['2026-03-01,EUR,Infinity', 'the rate "Infinity" must be'],
    ['2026-03-01,EUR,99999999999999999999999', 'the rate "99999999999999999999999" must be a decimal above 0'],
    ['2026-03-01,EUR,1000001', 'the rate of EUR must be from 0.000000001 to 1000000 USD per unit'],
    ['2026-03-01,EUR,0.0000000001', 'the rate of EUR must be from 0.000000001'],
    ['2026-03-01,EUR', 'must have a date, a currency and a rate'],
    ['2026-03-01,EUR,1,1', 'must have a date, a currency and a rate'],
    ['2026-03-01,EUR,', 'must have a date, a currency and a rate'],
    ['2026-03-01,XXQ,1', '"XXQ" is not a currency code of ISO 4217 such as EUR'],
    ['2026-03-01,eur,1', '"eur" is not a currency code'],
    ['2026-03-01,USD,1.01', 'the rate of USD is always 1'],
    ['2026-02-29,EUR,1', 'the date "2026-02-29" must be a day such as 2026-03-01'],
    ['01.03.2026,EUR,1', 'the date "01.03.2026" must be a day'],
    ['1969-12-31,EUR,1', 'the date 1969-12-31 is before 1970-01-01'],
    [`${day(2)},EUR,1`, `the date ${day(2)} lies in the future`],
  ] as const
  const good = '2026-03-01,EUR,7\n'
  const result = await importText(`${HEADER}${good}${bad.map(([line]) => `${line}\n`).join('')}${good}`)
  expect(result).toMatchObject({ code: 2, out: '' })
  const notes = result.notes.split('\n')
  expect(notes).toHaveLength(bad.length + 1)
  for (const [i, [line, fault]] of bad.entries()) expect(notes[i], line).toMatch(`line ${i + 3}: ${fault}`)
  expect(notes.at(-1)).toBe(`${bad.length} bad lines: no rate is stored`)
  expect(await allRates()).toEqual(before)
})

test('of very many bad lines the first hundred are reported', async () => {
  const { code, notes } = await importText(HEADER + '2026-03-01,EUR,0\n'.repeat(1_234))
  const lines = notes.split('\n')
  expect([code, lines.length, lines[99]!.slice(0, 9)]).toEqual([2, 102, 'line 101:'])
  expect(lines.slice(-2)).toEqual(['… and 1,134 more', '1,234 bad lines: no rate is stored'])
})

test('a line that contradicts another one is bad; one that repeats it is not', async () => {
  const before = await allRates()
  const result = await importText(`${HEADER}2026-03-05,EUR,1.2\n2026-03-05,EUR,1.20\n2026-03-05,EUR,1.3\n`)
  expect(result).toEqual({
    code: 2,
    out: '',
    notes: 'line 4: gives EUR another rate on 2026-03-05 than line 2\n1 bad line: no rate is stored',
  })
  expect(await allRates()).toEqual(before)
})

test.each([
  ['', 'line 1: must be date,currency,usd_per_unit or the header'],
  ['currency,date,rate\nEUR,2026-03-01,1\n', 'line 1: must be date,currency,usd_per_unit'],
  ['Date,CHF\n2026-03-01,1\n', 'line 1: must be date,currency'],
  ['Date,USD,CHF,\n2026-03-01,1.1\n', 'line 2: must have 2 rates, as its header says'],
  ['Date,USD,CHF,\n2026-03-01,N/A,0.9,\n', 'line 2: has no rate of USD'],
  ['Date,USD,CHF,\n2026-03-01,1.1,x,\n', 'line 2: the rate "x" must be a decimal'],
])('the file %j is refused', async (text, says) => {
  const { code, notes } = await importText(text)
  expect([code, notes]).toEqual([2, expect.stringContaining(says)])
})

test('a quote that is not closed spoils its own line alone, and a line without end is not kept', async () => {
  const result = await importText(`${HEADER}2026-03-01,"EUR,1\n2026-03-01,EUR,0\n`)
  expect(result.notes.split('\n')).toEqual([
    'line 2: "\\"EUR" is not a currency code of ISO 4217 such as EUR',
    expect.stringContaining('line 3: the rate "0"'),
    '2 bad lines: no rate is stored',
  ])
  const long = await importText(`${HEADER}${'1'.repeat(1_000_000)}`)
  expect([long.code, long.notes]).toEqual([2, expect.stringMatching(/^line \d: or a later one is longer than 64000 bytes/)])
})

test('a day that has begun east of here is not in the future', async () => {
  expect(await importText(`${HEADER}${day(1)},NOK,0.1\n`)).toMatchObject({ code: 0 })
})

test('a header alone is an empty file of rates', async () => {
  expect(await importText(HEADER)).toEqual({ code: 0, out: '0 rates: 0 added, 0 changed, 0 there already.', notes: '' })
})

test('more rates than one statement stages are stored whole', async () => {
  const days = Array.from({ length: 12_001 }, (_, i) => new Date(i * 86_400_000).toISOString().slice(0, 10))
  const { out } = await importText(HEADER + days.map((date, i) => `${date},DKK,0.${i + 1}\n`).join(''))
  expect(out).toBe('12,001 rates: 12,001 added, 0 changed, 0 there already.')
  expect((await stored('DKK')).length).toBe(12_001)
})

test('- reads standard input, of a process of its own too', async () => {
  const text = `${HEADER}2026-03-01,PLN,0.25\n`
  const result = await call(rates, ['-'], env, undefined, text)
  expect(result).toEqual({ code: 0, out: 'standard input: 1 rates: 1 added, 0 changed, 0 there already.', notes: '' })
  const { child, ended } = start(['rates', '-'], env, 'pipe')
  child.stdin!.end(text.replace('0.25', '0.26'))
  expect(await ended).toMatchObject({ code: 0, out: expect.stringContaining('0 added, 1 changed'), notes: '' })
})

test('a file that cannot be read, and arguments that are none, are reported in one line', async () => {
  expect(await call(rates, ['/nonexistent/rates.csv'], env)).toMatchObject({
    code: 1,
    notes: expect.stringMatching(/cannot be read: ENOENT/),
  })
  expect(await call(rates, [], env)).toMatchObject({ code: 1, notes: expect.stringContaining('one file is needed') })
  expect(await call(rates, ['a', 'b'], env)).toMatchObject({ code: 1, notes: expect.stringContaining('too many arguments: b') })
})
