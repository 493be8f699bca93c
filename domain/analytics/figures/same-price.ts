import { MOVEMENTS } from './movements.ts'

// What two states of the same price have besides the amount, as one number: rows are added up by one column faster than by four.

/** Days of purchases are counted from 2000-01-01. */
const FIRST_DAY = 10_957
const DAYS = 2 ** 15
const LENGTHS = 2 ** 16
const LEAST_LENGTH = -(2 ** 15)
const CURRENCIES = 2 ** 17

/** Two states of different prices, or of one price with parts that the number cannot hold. */
const NO_NUMBER = -1

/** SQL of Postgres for the number of a change; null: not both of its states have a price. */
export function samePriceSql(row: string, moves: string): string {
  const day = (prefix: string) => `(${row}.${prefix}bought_on - ${FIRST_DAY})`
  const fits = [`${moves} = ${MOVEMENTS.samePrice}`, `${row}.a_currency between 0 and ${CURRENCIES - 1}`, `${row}.a_length is not null`]
  for (const prefix of ['a_', 'b_']) fits.push(`${day(prefix)} between 0 and ${DAYS - 1}`)
  const number = `((${row}.a_currency::bigint * ${LENGTHS} + (${row}.a_length - ${LEAST_LENGTH})) * ${DAYS} + ${day('a_')}) * ${DAYS} + ${day('b_')}`
  return `case when ${fits.join(' and ')} then ${number} when ${moves} in (${MOVEMENTS.samePrice}, ${MOVEMENTS.other}) then ${NO_NUMBER} end`
}

/** SQL for whether a change has a number with parts, or two prices and none. */
export const hasSamePrice = (number: string): string => `${number} > ${NO_NUMBER}`
export const hasOtherPrices = (number: string): string => `${number} = ${NO_NUMBER}`

/** SQL for the parts of such a number. */
export const partsOfSamePrice = (number: string) => ({
  currency: `${number} // ${LENGTHS * DAYS * DAYS}`,
  length: `${number} // ${DAYS * DAYS} % ${LENGTHS} + ${LEAST_LENGTH}`,
  a_bought_on: `${number} // ${DAYS} % ${DAYS} + ${FIRST_DAY}`,
  b_bought_on: `${number} % ${DAYS} + ${FIRST_DAY}`,
})
