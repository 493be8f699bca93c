import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { outgoing } from '../../workflows/outgoing/outgoing.ts'
import { slackReportDestination } from '../../workflows/report-destinations/slack.ts'
import { webhooksReportDestination } from '../../workflows/report-destinations/webhooks.ts'
import { reportOf, scopeOf } from '../harness/report.ts'
import { jsonOf, type Vendor, type VendorReply, vendor } from '../harness/vendor.ts'

const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes ...').toString('base64')}`
const FORMER = `whsec_${Buffer.from('an older one of thirty-two bytes').toString('base64')}`
const out = outgoing({ allowPrivateNetwork: true })
let reply: VendorReply = { status: 200 }
let receiver: Vendor
beforeAll(async () => {
  receiver = await vendor(() => reply)
})
afterAll(() => Promise.all([receiver.close(), out.close()]))
afterEach(() => {
  reply = { status: 200 }
  receiver.requests.length = 0
})

describe('a webhook', () => {
  const settings = () => ({ url: `${receiver.url}/hook`, signing_secret: SECRET, authorization_token: 'tok:en' })
  const deliver = (more: object = {}, report = reportOf()) =>
    webhooksReportDestination(out).deliver(report, scopeOf({ ...settings(), ...more }))

  test('tells of the file, signed, under an id that repeats and resends share', async () => {
    const report = reportOf()
    expect(await deliver({}, report)).toMatchObject({ outcome: 'delivered', httpStatus: 200, error: null })
    await deliver({}, reportOf({ run: { resends: 1 } }))
    const [first, second] = receiver.requests
    expect([first!.method, first!.path]).toEqual(['POST', '/hook'])
    expect(first!.headers).toMatchObject({
      authorization: 'Basic tok:en',
      'webhook-id': 'rrn_1.int_1',
      'content-type': 'application/json',
      accept: 'application/json',
      'user-agent': 'Perennial-Webhooks/1',
    })
    expect(second!.headers['webhook-id']).toBe('rrn_1.int_1')
    expect(jsonOf(first!)).toEqual({
      report_id: 'rep_1',
      report_name: 'Daily <events> & more',
      run_id: 'rrn_1',
      slot: '2026-01-02T09:00:00Z',
      from: '2026-01-01T09:00:00Z',
      to: '2026-01-02T09:00:00Z',
      rows: 12,
      columns_version: 1,
      sha256: report.export.sha256,
      format: 'csv',
      file_url: report.export.file_url,
      expires_at: '2026-01-09T09:00:00Z',
      test: false,
    })
    // As a receiver checks it, tolerance of its clock included.
    expect(new Webhook(SECRET).verify(first!.body, first!.headers as Record<string, string>)).toBeTruthy()
  })

  test('is signed with the former secret, too, while that is good', async () => {
    await deliver({ former_signing_secret: FORMER })
    const { body } = receiver.requests[0]!
    const headers = receiver.requests[0]!.headers as Record<string, string>
    for (const secret of [SECRET, FORMER]) expect(() => new Webhook(secret).verify(body, headers)).not.toThrow()
    expect(String(headers['webhook-signature']).split(' ')).toHaveLength(2)
    const alone = { ...headers, 'webhook-signature': String(headers['webhook-signature']).split(' ')[0]! }
    expect(() => new Webhook(SECRET).verify(body, alone)).not.toThrow()
  })

  test('without a token says nothing of authorization', async () => {
    await deliver({ authorization_token: undefined })
    expect(receiver.requests[0]!.headers.authorization).toBeUndefined()
  })

  test('of a send-test has no slot', async () => {
    await deliver({}, reportOf({ run: { slot: null, test: true } }))
    expect(jsonOf(receiver.requests[0]!)).toMatchObject({ slot: null, test: true })
  })

  test('goes to the address of its environment, and nowhere where that is empty', async () => {
    const both = { ...settings(), sandbox_url: `${receiver.url}/sandbox` }
    await webhooksReportDestination(out).deliver(reportOf(), scopeOf(both, { environment: 'sandbox' }))
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/sandbox'])
    const sent = await webhooksReportDestination(out).deliver(reportOf(), scopeOf(settings(), { environment: 'sandbox' }))
    expect(sent).toMatchObject({ outcome: 'retry', error: 'no_url', httpStatus: null })
  })

  test.each([
    [404, 'retry'],
    [400, 'retry'],
    [410, 'gone'],
    [301, 'retry'],
    [500, 'retry'],
    [204, 'delivered'],
  ])('answered with %i is %s', async (status, outcome) => {
    reply = { status, body: status === 204 ? undefined : 'why', headers: { 'retry-after': '5' } }
    expect(await deliver()).toMatchObject({ outcome, httpStatus: status, retryAfterSeconds: 5 })
  })

  test('to the operator’s own network is refused', async () => {
    const guarded = outgoing({ allowPrivateNetwork: false })
    const sent = await webhooksReportDestination(guarded).deliver(reportOf(), scopeOf({ url: 'https://127.0.0.1/' }))
    expect(sent).toMatchObject({ outcome: 'retry', error: 'address_refused' })
    await guarded.close()
  })
})

describe('a Slack message', () => {
  const deliver = (report = reportOf()) =>
    slackReportDestination(out).deliver(report, scopeOf({ webhook_url: `${receiver.url}/services/T/B/x` }))

  test('tells of name, window, rows, link and its end, and mentions nobody', async () => {
    reply = { status: 200, body: 'ok' }
    expect(await deliver(reportOf({ name: '<!channel> & co' }))).toMatchObject({ outcome: 'delivered' })
    expect(jsonOf(receiver.requests[0]!)).toEqual({
      text: [
        '&lt;!channel&gt; &amp; co',
        'Events from 2026-01-01 04:00 -05:00 to 2026-01-02 04:00 -05:00 (America/New_York)',
        'Rows: 12',
        'File (csv): https://perennial.example/files/exp_1?signature=a&amp;b=c',
        'The link expires at 2026-01-09 04:00 -05:00',
      ].join('\n'),
    })
  })

  test.each([
    [404, 'no_service', 'reject'],
    [403, 'action_prohibited', 'retry'],
    [429, 'rate_limited', 'retry'],
    [500, 'rollup_error', 'retry'],
  ])('answered with %i %s: %s', async (status, body, outcome) => {
    reply = { status, body }
    expect(await deliver()).toMatchObject({ outcome, httpStatus: status, response: body })
  })

  test('is what its test sends', async () => {
    expect(await slackReportDestination(out).test!(scopeOf({ webhook_url: receiver.url }))).toMatchObject({
      outcome: 'delivered',
      httpStatus: 200,
    })
    expect(Object.keys(jsonOf(receiver.requests[0]!))).toEqual(['text'])
  })
})
