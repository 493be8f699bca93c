import { MOVEMENTS } from './movements.ts'

// What two states of the same price have besides the amount, as one number: rows are added up by one column three times as fast as by four.

/** Days of purchases are counted from 2000-01-01. */
const FIRST_DAY = 10_957
const DAYS = 2 ** 15
const LENGTHS = 2 ** 16
const LEAST_LENGTH = -(2 ** 15)
const CURRENCIES = 2 ** 17

/** SQL of Postgres for the number of a change; null: the states have another price, or one of these is outside of what the number can hold. */
export function samePriceSql(row: string, moves: string): string {
  const day = (prefix: string) => `(${row}.${prefix}bought_on - ${FIRST_DAY})`
  const fits = [`${moves} = ${MOVEMENTS.samePrice}`, `${row}.a_currency between 0 and ${CURRENCIES - 1}`]
  for (const prefix of ['a_', 'b_']) fits.push(`${day(prefix)} between 0 and ${DAYS - 1}`)
  const number = `((${row}.a_currency::bigint * ${LENGTHS} + (${row}.a_length - ${LEAST_LENGTH})) * ${DAYS} + ${day('a_')}) * ${DAYS} + ${day('b_')}`
  return `case when ${fits.join(' and ')} then ${number} end`
}

/** SQL for the parts of such a number. */
export const partsOfSamePrice = (number: string) => ({
  currency: `${number} // ${LENGTHS * DAYS * DAYS}`,
  length: `${number} // ${DAYS * DAYS} % ${LENGTHS} + ${LEAST_LENGTH}`,
  a_bought_on: `${number} // ${DAYS} % ${DAYS} + ${FIRST_DAY}`,
  b_bought_on: `${number} % ${DAYS} + ${FIRST_DAY}`,
})
