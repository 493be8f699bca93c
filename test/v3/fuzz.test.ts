// For any input: an answer in the shape of v3, never a 5xx, and never a success for input that the description does not allow.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withoutNulls } from '../../api/v3/without-nulls.ts'
import { descriptions, validateError } from '../../schemas/generated/v3/operations.ts'
import { bodyChanges, RAW, search, segment } from '../contract/nasty.ts'
import { runs } from '../contract/seed.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type V3Answer, v3Client } from '../harness/v3.ts'
import { type Shop, shopOf, type V3Request } from './shop.ts'

const RUNS = { body: 40, query: 12, path: 12 }

let api: TestApi
let shop: Shop
beforeAll(async () => {
  api = await startApi()
  shop = await shopOf(api)
})
afterAll(() => api.stop())

const requestOf = (id: string): V3Request => shop.requests.find(request => request.id === id)!
/** Node's client sends ASCII only. */
const ascii = (text: string) => text.replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent)

const keyOf = ({ isSecret }: V3Request) => (isSecret ? shop.keys.sandbox : `test_${shop.keys.projectKey}`)

/** The server validates every success. The client of these tests refuses what is no JSON, holds null, or is not for every origin. */
function check(answer: V3Answer): void {
  if (answer.status >= 500) throw new Error(`${answer.status} ${answer.text}`)
  if (answer.status >= 400 && !validateError(answer.body)) throw new Error(`no error of v3: ${answer.status} ${answer.text}`)
}

const withBody = descriptions.filter(({ body }) => body)

describe('input', () => {
  test.each(withBody)('in the body of $id', async ({ id, validate }) => {
    const request = requestOf(id)
    const allows = (body: unknown) => validate.body!(structuredClone(withoutNulls(body) ?? {})) === true
    await fc.assert(
      fc.asyncProperty(bodyChanges, async changes => {
        const body = JSON.parse(JSON.stringify(changes.apply(request.body) ?? null))
        const answer = await shop.send({ ...request, body })
        check(answer)
        if (answer.status < 300 && !allows(body)) throw new Error(`succeeded: ${answer.text.slice(0, 300)}`)
      }),
      runs(RUNS.body),
    )
  })

  test.each(withBody)('instead of the body of $id', async ({ id }) => {
    const { method, path, ...request } = requestOf(id)
    for (const { raw, type = 'application/json' } of RAW) {
      const headers = { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(raw)) }
      check(await v3Client(api)(method, path, { key: keyOf({ method, path, ...request }), raw, headers }))
    }
  })

  test.each(descriptions)('in the query of $id', async ({ id, query }) => {
    const request = requestOf(id)
    const path = request.path.split('?')[0]!
    await fc.assert(
      fc.asyncProperty(search(query.map(({ name }) => name)), async text => {
        check(await shop.send({ ...request, path: `${path}?${ascii(text)}` }))
      }),
      runs(RUNS.query),
    )
  })

  test.each(descriptions.filter(({ path }) => path.includes('{')))('in the path of $id', async ({ id, path: pattern }) => {
    const request = requestOf(id)
    const indexes = pattern.split('/').flatMap((part, i) => (part.startsWith('{') ? [i] : []))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...indexes), segment, async (index, text) => {
        const parts = request.path.split('/')
        parts[index] = ascii(text)
        check(await shop.send({ ...request, path: parts.join('/') }))
      }),
      runs(RUNS.path),
    )
  })
})

test('the address of every operation is that of its description', () => {
  for (const { id, method, path } of descriptions) {
    const request = requestOf(id)
    expect(request.method, id).toBe(method)
    const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}(\\?|$)`)
    expect(request.path, id).toMatch(pattern)
  }
})
