import { expect, test } from 'vitest'
import { unexpected } from '../../../workflows/apple-ads/client.ts'
import { type Ask, listEntities, readReport } from '../../../workflows/apple-ads/reports.ts'
import { ago } from './fixture.ts'

const PAGE = 1000
const DAY_MS = 86_400_000

/** Apple with so many rows, each with spend of 1 on every day. */
const appleWith =
  (count: number): Ask =>
  async ({ body }) => {
    const { startTime, endTime, selector } = body as { startTime: string; endTime: string; selector: { pagination: { offset: number } } }
    const days = (Date.parse(endTime) - Date.parse(startTime)) / DAY_MS + 1
    const granularity = Array.from({ length: days }, (_, i) => ({
      date: new Date(Date.parse(startTime) + i * DAY_MS).toISOString().slice(0, 10),
      impressions: 1,
      localSpend: { amount: '1', currency: 'USD' },
    }))
    const { offset } = selector.pagination
    const row = Array.from({ length: Math.min(PAGE, count - offset) }, (_, i) => ({
      metadata: { keywordId: offset + i, keyword: 'word', adGroupId: 1, countryOrRegion: 'US' },
      granularity,
    }))
    return { is: 'data', data: { reportingDataResponse: { row } }, total: count }
  }
const request = { org: '1', level: 'keywords' as const, campaign: '2' }

test('a report that is too long for the memory is read in parts of fewer days, and every day once', async () => {
  const parts: [string, string, number][] = []
  for await (const { from, through, spend } of readReport(appleWith(4000), { ...request, from: ago(30), through: ago(1) }))
    parts.push([from, through, spend.length])
  expect(parts).toEqual([
    [ago(30), ago(16), 60_000],
    [ago(15), ago(1), 60_000],
  ])
})

test('a day that is too long, and a list that never ends, are refused', async () => {
  await expect(readReport(appleWith(101_000), { ...request, from: ago(1), through: ago(1) }).next()).rejects.toThrow(
    'more than 100000 rows',
  )
  let pages = 0
  const endless: Ask = async () => ({ is: 'data', data: [{ id: ++pages }], total: 1e9 })
  await expect(listEntities(endless, '1', 'keywords', '2')).rejects.toThrow('more than')
  expect(pages).toBeLessThan(1000)
})

test('a list that is another one at every page is unknown', async () => {
  let total = 10
  const moving: Ask = async () => ({ is: 'data', data: [{ id: 1 }], total: ++total })
  await expect(listEntities(moving, '1', 'campaigns', null)).rejects.toMatchObject({
    answer: unexpected('a list that changes while it is read'),
  })
})
