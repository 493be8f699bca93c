import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { appleError } from '../harness/stores/app-store.ts'
import { appleNotification } from '../harness/stores/apple-jws.ts'
import { type StoreCommands, startStoreCommands } from './stores.ts'

let commands: StoreCommands
beforeAll(async () => {
  commands = await startStoreCommands()
})
afterAll(() => commands.stop())
beforeEach(() => commands.at.begin())

const run = (...more: string[]) => commands.run('test', commands.at.project.id, ...more)

/** Apple posts the notification to the service when it is asked to, and says of its attempts what `result` says once the answer is there. */
function posts(environment: 'Production' | 'Sandbox', result: (status: number) => string) {
  const { at } = commands
  let attempts: string[] = []
  at.apple.override = ({ method, path }) => {
    if (method === 'POST' && path.endsWith('/notifications/test')) {
      const sent = at.pushApple(appleNotification(at.chain, { type: 'TEST', at: Date.now(), environment }))
      void sent.then(status => {
        attempts = [result(status)]
      })
      return null
    }
    if (!path.includes('/notifications/test/')) return null
    return { status: 200, body: { sendAttempts: attempts.map(sendAttemptResult => ({ attemptDate: Date.now(), sendAttemptResult })) } }
  }
}

test.each([
  ['Production', [], 'production'],
  ['Sandbox', ['--sandbox'], 'sandbox'],
] as const)('a test that arrives in %s is reported', async (word, more, kind) => {
  await commands.at.connectApple()
  posts(word, status => (status === 200 ? 'SUCCESS' : 'OTHER'))
  const result = await run(...more)
  expect(result.out).toBe('The test notification has arrived: address, signature and app are right.')
  expect(result.code).toBe(0)
  expect(result.notes).toBe(`Apple was asked for a test notification of ${kind}.`)
  expect((await commands.run('status', commands.at.project.id)).out).toMatch(new RegExp(`apple +${kind} +connected +- +\\d{4}-`))
})

test('a test of the other environment, or one that came before, is not taken for it', async () => {
  await commands.at.connectApple()
  posts('Production', () => 'SUCCESS')
  await run()
  posts('Sandbox', () => 'SUCCESS')
  const result = await run()
  expect(result.code).toBe(1)
  expect(result.notes).toContain(
    `Apple has posted it, but not here: the address in App Store Connect must be ${commands.env.PUBLIC_URL}/stores/apple/`,
  )
})

test('where Apple could not post it, Apple tells why', async () => {
  await commands.at.connectApple()
  commands.at.apple.override = ({ path }) =>
    path.includes('/notifications/test/') ? { status: 200, body: { sendAttempts: [{ sendAttemptResult: 'TLS_ISSUE' }] } } : null
  const result = await run()
  expect(result.code).toBe(1)
  expect(result.notes).toContain('got no TLS that Apple accepts (TLS_ISSUE)')
})

test('where Apple has not tried by then, the test may still come', async () => {
  await commands.at.connectApple()
  commands.at.apple.override = ({ path }) => (path.includes('/notifications/test/') ? { status: 200, body: {} } : null)
  const result = await run('--wait', '0')
  expect(result.code).toBe(1)
  expect(result.notes).toContain('has not posted the notification within 0 s')
})

test('where no address is entered, or the key is refused, or Apple fails, it stops there', async () => {
  await commands.at.connectApple()
  const exited = async (status: number, code: number) => {
    commands.at.apple.override = () => appleError(status, code)
    return (await run()).notes
  }
  expect(await exited(404, 4040007)).toContain('Apple knows no address for production: enter ')
  expect(await exited(401, 0)).toMatch(/^Apple does not accept the credentials \(http_401.*"stores check/)
  expect(await exited(500, 5000000)).toContain('Apple gave no answer (http_500')
})

test('what is missing is reported without asking Apple', async () => {
  const requestCount = commands.at.apple.requests.length
  expect((await run()).notes).toContain('has not set up Apple')
  await commands.at.connectApple({ isConnected: false })
  expect((await run()).notes).toContain('iap_key_identifier, iap_private_key, iap_issuer_id is not stored')
  expect((await commands.run('test', 4711)).notes).toBe('project 4711 not found')
  expect((await run('--wait', 'x')).notes).toContain('--wait must be')
  expect(commands.at.apple.requests.length).toBe(requestCount)
})
