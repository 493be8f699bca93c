// The page to which `_meta.reference` leads.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ERROR_CATALOGUE } from '../../api/errors.ts'
import { V3_CATALOGUE } from '../../api/v3/errors.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { v3Client } from '../harness/v3.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

test('is where an error says it is, with an anchor for every code', async () => {
  const { body } = await v3Client(api)('GET', '/v3/nothing')
  const [address, anchor] = body._meta.reference.split('#')
  const page = await fetch(address)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const anchors = [...(await page.text()).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
  expect(anchors).toContain(anchor)
  for (const code of [...Object.keys(ERROR_CATALOGUE), ...Object.keys(V3_CATALOGUE)]) expect(anchors).toContain(code)
})
