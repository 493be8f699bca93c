import { expect } from 'vitest'
import type { TestApi } from './api.ts'

/** The values of each series of a chart, for each of the last days. */
export async function dailyChart(api: TestApi, key: string, code: string, days: number): Promise<Record<string, number[]>> {
  const to = Math.floor(Date.now() / 1000)
  const path = `/v4/analytics/charts/${code}?from=${to - days * 86_400}&to=${to}&unit=day`
  const { body, status, text } = await api.call('GET', path, { key })
  expect(status, text).toBe(200)
  return Object.fromEntries(
    body.series.map(({ label, data }: { label: string; data: { value: number }[] }) => [label, data.map(({ value }) => value)]),
  )
}
