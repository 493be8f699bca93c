import { describe, expect, test } from 'vitest'
import { chartAnswer } from '../oracle/answer.ts'
import { seconds } from '../oracle/heard.ts'
import { worldOf } from '../oracle/world.ts'
import { expected, historyOfLife, life } from './life.ts'

const world = worldOf(historyOfLife())
const { question, charts } = expected

describe('the witness agrees with what was calculated by hand', () => {
  test('24 transactions, of 25 charts', () => {
    const transactions = life.statements.filter(
      ({ is, body }) => is === 'purchase' || (is === 'event' && /started|converted|renewed|purchase/.test(String(body.event_name))),
    )
    expect(transactions).toHaveLength(24)
    expect(Object.keys(charts)).toHaveLength(25)
  })

  test.each(Object.entries(charts))('%s', (code, lines) => {
    const window = { from: seconds(question.from), to: seconds(question.to) }
    const { series, summarySeries } = chartAnswer(world, {
      code,
      window,
      unit: question.unit,
      conversion: { currency: question.currency },
      filters: {},
      maxSeries: 50,
    })
    const shown = [...series, ...(summarySeries ? [summarySeries] : [])].map(({ label, total, totalPrev, data }) => ({
      label,
      total,
      totalPrev,
      data: data.map(point => point.value),
    }))
    expect(shown).toEqual(lines)
  })
})
