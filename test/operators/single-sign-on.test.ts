// Single sign-on with a real provider in this process.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readSession } from '../../domain/operators/session.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { signInAt, startOpenId, type TestOpenId } from '../harness/open-id.ts'
import { newOperator, visitor } from '../harness/operators.ts'

let provider: TestOpenId
let api: TestApi
beforeAll(async () => {
  provider = await startOpenId()
  api = await startApi({ openId: provider.options })
  provider.serve(api.url)
})
afterAll(async () => {
  await api.stop()
  await provider.stop()
})

test('signs in', async () => {
  const { id, email } = await newOperator(api)
  provider.people.set('sub-1', { email, email_verified: true })
  const browser = visitor(api.url)
  const answer = await signInAt(browser, 'sub-1', '/sign-in/oidc?next=/docs')
  expect([answer.status, answer.location]).toEqual([303, '/docs'])
  expect(await readSession(api.pool, browser.cookies.get('perennial')!)).toMatchObject({
    operator: { id },
    isByProvider: true,
    isRecent: true,
  })
})
