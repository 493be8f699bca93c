import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sealSecret } from '../../domain/integrations/config.ts'
import { emailSender, type InstallationMail } from '../../workflows/actions/email.ts'
import { StepSkipped } from '../../workflows/automation/step-kind.ts'
import { StopRetrying } from '../../workflows/engine/policy.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type MailHost, mailHost, type Refusals } from '../harness/mail.ts'
import { occurrenceOf } from '../harness/sent-to.ts'
import { storedIntegration } from '../harness/stored-integration.ts'

const login = { user: 'shop', pass: 'secret' }
let api: TestApi
let theirs: MailHost
let ours: MailHost
let refusals: Refusals = {}
let environment: number
beforeAll(async () => {
  api = await startApi()
  theirs = await mailHost({ login, refuse: () => refusals })
  ours = await mailHost()
})
afterAll(async () => {
  await Promise.all([theirs.close(), ours.close()])
  await api.stop()
})
beforeEach(async () => {
  environment = (await api.newProject()).production
  refusals = {}
  theirs.received.length = 0
  ours.received.length = 0
})

type Setting = { active?: 0 | 1 | 2; from?: string; password?: string; host?: string }
async function integration({ active = 1, from = 'Shop <shop@example.com>', password = login.pass, host = '127.0.0.1' }: Setting = {}) {
  const settings = { host, port: theirs.port, from, secure: false, username: login.user }
  const id = await storedIntegration(api.pool, environment, { slug: 'email', active, settings })
  const sealed = sealSecret({ secrets: api.secrets, environment, integration: id }, 'password', password)
  await api.pool.query('update integrations set secrets = $2 where id = $1', [id, JSON.stringify({ password: sealed })])
  return id
}
const installation = (): InstallationMail => ({
  server: { host: '127.0.0.1', port: ours.port, secure: false, requireTls: false, login: null },
  from: 'perennial@installation.example',
})

type Sending = { to?: string; properties?: Record<string, string>; key?: string; signal?: AbortSignal; allowPrivateNetwork?: boolean }
function send({
  to,
  properties = {},
  key = 'run_1:mail',
  signal = new AbortController().signal,
  allowPrivateNetwork = true,
}: Sending = {}) {
  const sendEmail = emailSender({ pool: api.pool, secrets: api.secrets, guard: { allowPrivateNetwork }, installation: installation() })
  const email = { ...(to !== undefined && { to }), subject: 'Hello', text: 'Text' }
  return sendEmail(environment, { ...email, key, signal, occurrence: occurrenceOf('QON_ann', properties) })
}
const thrown = (sent: Promise<unknown>) =>
  sent.then(
    () => 'taken',
    error => [error.constructor, error.message],
  )

describe('an e-mail of a step', () => {
  test('goes to the address that is given, under the Message-ID of its step at every attempt', async () => {
    await integration()
    const sent = { to: 'ann@example.com', message_id: '<run_1.mail@example.com>' }
    expect(await send({ to: 'ann@example.com', properties: { _q_email: 'bob@example.com' } })).toEqual(sent)
    expect(await send({ to: 'ann@example.com' })).toEqual(sent)
    expect(theirs.received.map(got => [got.to, got.mail.messageId, got.user])).toEqual([
      [['ann@example.com'], sent.message_id, 'shop'],
      [['ann@example.com'], sent.message_id, 'shop'],
    ])
    expect(theirs.received[0]!.mail).toMatchObject({ subject: 'Hello', from: { name: 'Shop', address: 'shop@example.com' } })
  })

  test('goes to the user’s own address where none is given', async () => {
    await integration()
    expect(await send({ properties: { _q_email: ' bob@example.com ' } })).toMatchObject({ to: 'bob@example.com' })
  })

  test.each<Record<string, string>>([
    {},
    { _q_email: '' },
    { _q_email: 'nobody' },
    { _q_email: 'a@example.com, eve@example.com' },
    { _q_email: 'a@b\r\nBcc: c@d' },
  ])('to somebody without one address, %j, is skipped', async properties => {
    await integration()
    expect(await thrown(send({ properties }))).toEqual([StepSkipped, 'no_recipient'])
    expect(theirs.received).toEqual([])
  })

  test.each([
    [{ to: () => 550 }, [StopRetrying, 'email_rejected']],
    [{ data: 554 }, [StopRetrying, 'email_rejected']],
    [{ to: () => 451 }, [Error, expect.stringContaining('451')]],
    [{ data: 421 }, [Error, expect.stringContaining('421')]],
  ])('that the server refuses: %j', async (refuse, expected) => {
    await integration()
    refusals = refuse
    expect(await thrown(send({ to: 'ann@example.com' }))).toEqual(expected)
  })

  test('with a wrong password is rejected: the server says so with a 5xx', async () => {
    await integration({ password: 'wrong' })
    expect(await thrown(send({ to: 'ann@example.com' }))).toEqual([StopRetrying, 'email_rejected'])
  })

  test('to a server in the operator’s own network is not sent unless he allows it', async () => {
    await integration()
    expect(await thrown(send({ to: 'ann@example.com', allowPrivateNetwork: false }))).toEqual([Error, 'address_refused'])
    expect(theirs.received).toEqual([])
  })

  test('is not begun when the lease is lost', async () => {
    await integration()
    expect(await thrown(send({ to: 'ann@example.com', signal: AbortSignal.abort(new Error('lost')) }))).toEqual([Error, 'lost'])
  })
})

describe('the server', () => {
  test('is that of the oldest active integration of the environment', async () => {
    const first = await integration({ from: 'first@example.com' })
    await integration({ from: 'second@example.com' })
    await integration({ from: 'paused@example.com', active: 0 })
    await api.pool.query(`update integrations set created_at = '2020-01-01' where environment = $1 and active = 0`, [environment])
    await send({ to: 'ann@example.com' })
    await api.pool.query('update integrations set deleted_at = now() where id = $1', [first])
    await send({ to: 'ann@example.com' })
    expect(theirs.received.map(got => got.from)).toEqual(['first@example.com', 'second@example.com'])
  })

  test('is the installation’s own where there is none, wherever the operator has it', async () => {
    await integration({ active: 0 })
    const sent = await send({ to: 'ann@example.com', allowPrivateNetwork: false })
    expect(sent).toEqual({ to: 'ann@example.com', message_id: '<run_1.mail@installation.example>' })
    expect(ours.received.map(got => got.from)).toEqual(['perennial@installation.example'])
  })

  test('of another environment is never used', async () => {
    await integration()
    environment = (await api.newProject()).production
    await send({ to: 'ann@example.com' })
    expect([theirs.received.length, ours.received.length]).toEqual([0, 1])
  })

  test('that nobody has set up: not configured', async () => {
    const sendEmail = emailSender({
      pool: api.pool,
      secrets: api.secrets,
      guard: { allowPrivateNetwork: true },
      installation: undefined,
    })
    const email = { to: 'ann@example.com', subject: 's', text: 't', key: 'r:s', occurrence: occurrenceOf(null, {}) }
    const sent = sendEmail(environment, { ...email, signal: new AbortController().signal })
    expect(await thrown(sent)).toEqual([StopRetrying, 'email_not_configured'])
  })
})
