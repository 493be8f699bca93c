import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MOVEMENTS } from '../../../domain/analytics/figures/movements.ts'
import { hasOtherPrices, hasSamePrice, partsOfSamePrice, samePriceSql } from '../../../domain/analytics/figures/same-price.ts'

const day = fc.oneof(
  fc.integer({ min: 10_950, max: 10_965 }),
  fc.integer({ min: 0, max: 60_000 }),
  fc.integer({ min: 43_720, max: 43_730 }),
)
const row = fc.record({
  moves: fc.constantFrom(...Object.values(MOVEMENTS)),
  a_currency: fc.option(fc.oneof(fc.integer({ min: 0, max: 200_000 }), fc.integer({ min: 131_070, max: 131_073 }))),
  a_length: fc.option(fc.integer({ min: -32_768, max: 32_767 })),
  a_bought_on: fc.option(day),
  b_bought_on: fc.option(day),
})
type Row = { [Name in 'moves' | 'a_currency' | 'a_length' | 'a_bought_on' | 'b_bought_on']: number | null }

/** From 2000-01-01 on, for 2^15 days. */
const isDay = (of: number | null) => of !== null && of >= 10_957 && of < 10_957 + 32_768
const hasNumber = ({ moves, a_currency, a_length, a_bought_on, b_bought_on }: Row) =>
  moves === MOVEMENTS.samePrice &&
  a_currency !== null &&
  a_currency < 131_072 &&
  a_length !== null &&
  isDay(a_bought_on) &&
  isDay(b_bought_on)

const hasTwoPrices = ({ moves }: Row) => moves === MOVEMENTS.samePrice || moves === MOVEMENTS.other

test('the number of two states of the same price has all of its parts, and other changes with two prices are told apart', async () => {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const columns = Object.entries(partsOfSamePrice('price')).map(([name, sql]) => `${sql} as ${name}`)
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 50 }), async rows => {
      const values = rows.map(of => `(${Object.values(of).map(String).join(', ')})`).join(', ')
      const read =
        await connection.runAndReadAll(`select ${hasSamePrice('price')} as has, ${hasOtherPrices('price')} as others, ${columns.join(', ')} from (
        select ${samePriceSql('f', 'f.moves')} as price from (values ${values}) f(${Object.keys(rows[0]!).join(', ')}))`)
      const found = read.getRowObjects().map(({ has, others, ...parts }) => (has ? Object.values(parts).map(Number) : others))
      expect(found).toEqual(
        rows.map(of => (hasNumber(of) ? [of.a_currency, of.a_length, of.a_bought_on, of.b_bought_on] : hasTwoPrices(of) || null)),
      )
    }),
  )
  connection.closeSync()
  instance.closeSync()
})
