import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import type { AnsweredSeries } from '../../oracle/answer.ts'
import { exact, over, shown, times } from '../../oracle/exact.ts'
import { worldOf } from '../../oracle/world.ts'
import { described } from './answer-difference.ts'
import { CASES, SEED } from './draws.ts'
import { plan } from './plans.ts'
import { type PostedPlan, postPlan, storeRates } from './post-plan.ts'
import { queryOf, question, questionOf } from './questions.ts'
import { ratesBefore } from './rates.ts'

const EACH = 10

let api: TestApi
const rates = ratesBefore(Math.floor(Date.now() / 1000))
beforeAll(async () => {
  api = await startApi()
  await storeRates(api, rates)
})
afterAll(() => api.stop())

type Fact = { id: string; role: 'value' | 'numerator' | 'denominator'; contribution: string }
type Chart = { code: string; measure: string; series: AnsweredSeries[]; summarySeries?: AnsweredSeries }
/** A number of a chart: its value, and the parameters that name it. */
type NumberOf = { value: number; parameters: string }

const PLACES = 30
/** Monthly amounts are whole numbers of 336ths of the smallest amount, and proceeds have 25 decimals. */
const SMALLEST = 336n * 10n ** 25n

const units = (decimal: string): bigint => {
  const [whole, fraction = ''] = decimal.replace('-', '').split('.')
  const size = BigInt(whole! + fraction.padEnd(PLACES, '0'))
  return decimal.startsWith('-') ? -size : size
}

/** The sum of decimals, as a whole number of SMALLEST: exact, although single parts may be rounded at their last decimal. */
function summed(decimals: string[]): bigint {
  const sum = decimals.reduce((total, decimal) => total + units(decimal), 0n) * 336n
  const half = 5n * 10n ** 4n
  return (sum < 0n ? sum - half : sum + half) / 10n ** 5n
}

/** The number that the contributions give, as the chart would show it. */
function shownBy(facts: Fact[], measure: string): number {
  const ofRole = (...roles: string[]) => exact(summed(facts.filter(({ role }) => roles.includes(role)).map(one => one.contribution)))
  const isRatio = facts.some(({ role }) => role !== 'value')
  const [top, bottom] = [ofRole('value', 'numerator'), isRatio ? ofRole('denominator') : exact(SMALLEST)]
  if (bottom.n === 0n) return 0
  return shown(times(over(top, bottom), exact(measure === 'percent' ? 100 : 1)), measure === 'count' ? 0 : 2)
}

/** One of the numbers that a chart shows, mostly one that is not 0. `pick` chooses. */
function numberIn({ series, summarySeries }: Chart, isSegmented: boolean, pick: number): NumberOf | null {
  const lines = isSegmented ? series : [...series, ...(summarySeries ? [summarySeries] : [])]
  const all = lines.flatMap(({ label, total, data }) => {
    const name = { [isSegmented ? 'segment' : 'series']: label }
    const points = data.map(({ start_time, value }) => ({ value, name: { ...name, start_time: String(start_time) } }))
    return [{ value: total, name }, ...points]
  })
  const some = all.filter(({ value }) => value !== 0)
  const from = some.length > 0 && pick % 8 > 0 ? some : all
  const found = from[pick % from.length]
  return found ? { value: found.value, parameters: new URLSearchParams(found.name).toString() } : null
}

async function everyFact(path: string, key: string, limit: number): Promise<Fact[]> {
  const facts: Fact[] = []
  for (let cursor: string | undefined; ; ) {
    const { body, status, text } = await api.call('GET', `${path}&limit=${limit}${cursor ? `&starting_after=${cursor}` : ''}`, { key })
    expect(status, text).toBe(200)
    facts.push(...body.data)
    cursor = body.next_cursor
    if (!body.has_more) return facts
  }
}

/** What differs, or null: the facts, the explanation and its statement give the number of the chart. */
async function differenceIn(posted: PostedPlan, code: string, query: string, isSegmented: boolean, pick: number) {
  const path = `/v4/analytics/charts/${code}`
  const chart = async (): Promise<Chart> => (await api.call('GET', `${path}?${query}`, { key: posted.key })).body
  const before = await chart()
  const number = numberIn(before, isSegmented, pick)
  if (number === null) return null
  const numberQuery = `${query}&${number.parameters}`
  const facts = await everyFact(`${path}/facts?${numberQuery}`, posted.key, 1 + (pick % 9))
  const { body, status, text } = await api.call('GET', `${path}/explain?${numberQuery}`, { key: posted.key })
  expect(status, text).toBe(200)
  const { rows } = await api.pool.query(body.sql)
  // What the passing of time changed in between is no difference.
  if (JSON.stringify(numberIn(await chart(), isSegmented, pick)) !== JSON.stringify(number)) return null
  expect(new Set(facts.map(({ id }) => id)).size).toBe(facts.length)
  const expected = { facts: number.value, explained: number.value, stated: number.value, count: facts.length }
  const count = body.facts.reduce((sum: number, one: { facts: number }) => sum + one.facts, 0)
  const got = { facts: shownBy(facts, before.measure), explained: body.value, stated: Number(rows[0].value), count }
  return JSON.stringify(expected) === JSON.stringify(got)
    ? null
    : { path: `${path}/explain?${numberQuery}`, expected, got: { ...got, sql: body.sql, shown: facts } }
}

test(`facts, explanation and statement give the numbers of charts: ${CASES} numbers, FIGURES_SEED=${SEED}`, {
  timeout: 60_000 + CASES * 2_000,
}, async () => {
  const questions = fc.array(fc.tuple(question, fc.nat(999)), { minLength: EACH, maxLength: EACH })
  const agree = fc.asyncProperty(plan, questions, async (drawn, picked) => {
    const posted = await postPlan(api, drawn, rates)
    for (const [one, pick] of picked) {
      const of = questionOf(one, worldOf(posted.history))
      const difference = await differenceIn(posted, of.code, queryOf(of), of.segmentation !== undefined, pick)
      if (difference) expect.fail(described({ posted, driver: 'postgres', ...difference }))
    }
  })
  await fc.assert(agree, { numRuns: Math.ceil(CASES / EACH), seed: SEED, endOnFailure: true })
})
