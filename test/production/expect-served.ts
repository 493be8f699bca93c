import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { client } from '../harness/client.ts'
import { item } from '../harness/events.ts'
import { exportAll, WHOLE_YEAR } from '../harness/exports.ts'
import { readParquet } from '../harness/parquet.ts'
import { until } from '../harness/until.ts'

/** To be run by the Node of an installation, in its folder. */
export const INSIDE = readFileSync(join(import.meta.dirname, 'inside.mjs'), 'utf8')

/** What it prints. */
export function expectWholeInside(output: string): void {
  const { packages, failed, svg, png } = JSON.parse(output)
  expect(failed).toEqual([])
  expect(packages).toBeGreaterThan(30)
  expect(svg).toBeGreaterThan(5_000)
  expect(png).toBeGreaterThan(5_000)
}

const PAGES = ['/docs', '/docs/installing', '/docs/api', '/docs/api/v3']
const FILES = ['search.json', 'minisearch.js', 'scalar.js', 'docs.js', 'frame.css', 'code.css'].map(name => `/docs/assets/${name}`)

/** An installation at `url` answers as one from a clone does: pages, first requests, the console, figures, and exports of both formats. */
export async function expectServed(url: string, key: string): Promise<void> {
  const get = (path: string) => fetch(url + path)
  expect((await get('/healthz')).status).toBe(200)
  await until('/readyz', async () => ((await get('/readyz')).status === 200 ? true : undefined))
  for (const path of [...PAGES, ...FILES, '/docs/screens/overview.png', '/v4/openapi.json'])
    expect([path, (await get(path)).status]).toEqual([path, 200])

  const page = await get('/console')
  expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
  const scripts = [...(await page.text()).matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css))"/g)].map(([, path]) => path!)
  expect(scripts.length).toBeGreaterThan(1)
  for (const path of scripts) expect([path, (await get(path)).status]).toEqual([path, 200])

  const call = client(url, key)
  const events = Array.from({ length: 20 }, (_, i) => item({ event_id: `first-${i}`, identity_id: `user-${i}` }))
  expect((await call('POST', '/v4/events', { body: { events } })).status).toBe(200)
  expect((await call('GET', '/v4/analytics/charts/sales?from=1767225600&to=1769904000&unit=day')).status).toBe(200)
  const csv = await exportAll({ call }, { ...WHOLE_YEAR, format: 'csv' })
  expect(csv.text.trim().split('\n')).toHaveLength(1 + events.length)
  const parquet = await exportAll({ call }, { ...WHOLE_YEAR, format: 'parquet' })
  expect((await readParquet(parquet.bytes)).rows).toHaveLength(events.length)
}
