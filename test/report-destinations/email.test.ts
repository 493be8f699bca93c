import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { emailReportDestination } from '../../workflows/report-destinations/email.ts'
import { type MailHost, mailHost, type Refusals } from '../harness/mail.ts'
import { reportOf, scopeOf } from '../harness/report.ts'

const login = { user: 'shop', pass: 'secret' }
let host: MailHost
let refusals: Refusals = {}
beforeAll(async () => {
  host = await mailHost({ login, refuse: () => refusals })
})
afterAll(() => host.close())
beforeEach(() => {
  refusals = {}
  host.received.length = 0
})

const RECIPIENTS = ['ann@example.com', 'bob@example.com']
const destination = emailReportDestination({ allowPrivateNetwork: true })
const settings = (more: object = {}) => ({
  host: '127.0.0.1',
  port: host.port,
  secure: false,
  from: 'Reports <reports@shop.example>',
  username: login.user,
  password: login.pass,
  recipients: RECIPIENTS,
  ...more,
})
const deliver = (more: object = {}, report = reportOf()) => destination.deliver(report, scopeOf(settings(more)))

describe('a report by e-mail', () => {
  test('tells all recipients of it in one mail', async () => {
    expect(await deliver()).toMatchObject({ outcome: 'delivered', error: null })
    const [{ to, mail }] = host.received as [MailHost['received'][0]]
    expect([to, mail.subject, mail.messageId]).toEqual([RECIPIENTS, 'Daily <events> & more: 12 rows', '<rrn_1.int_1@shop.example>'])
    expect(mail.text?.trimEnd().split('\n')).toEqual([
      'Daily <events> & more',
      'Events from 2026-01-01 04:00 -05:00 to 2026-01-02 04:00 -05:00 (America/New_York)',
      'Rows: 12',
      'File (csv): https://perennial.example/files/exp_1?signature=a&b=c',
      'The link expires at 2026-01-09 04:00 -05:00',
    ])
  })

  test('has the same Message-ID at every attempt, another one when it is asked for again', async () => {
    await deliver()
    await deliver()
    await deliver({}, reportOf({ run: { resends: 1 } }))
    const ids = host.received.map(({ mail }) => mail.messageId)
    expect([ids[0] === ids[1], ids[0] === ids[2]]).toEqual([true, false])
  })

  test('cannot be given other headers by the name of the report', async () => {
    await deliver({}, reportOf({ name: 'Hi\r\nBcc: eve@example.com\r\n\r\n' }))
    expect(host.received[0]!.to).toEqual(RECIPIENTS)
    expect(host.received[0]!.raw).not.toMatch(/^bcc/im)
    expect(host.received[0]!.mail.subject).toBe('Hi Bcc: eve@example.com : 12 rows')
  })

  test('that some do not take says who', async () => {
    refusals = { to: address => (address.startsWith('bob') ? 550 : undefined) }
    expect(await deliver()).toMatchObject({ outcome: 'reject', error: expect.stringMatching(/^not taken for bob@example.com: 550/) })
    refusals = { to: address => (address.startsWith('bob') ? 450 : undefined) }
    expect(await deliver()).toMatchObject({ outcome: 'retry', error: expect.stringMatching(/^not taken for bob@example.com: 450/) })
  })

  test('that was put off for some goes to those only, and is the same mail', async () => {
    refusals = { to: address => (address.startsWith('bob') ? 450 : undefined) }
    const first = await deliver()
    expect(first).toMatchObject({ outcome: 'retry', acceptedBy: ['ann@example.com'] })
    const again = () => destination.deliver(reportOf(), scopeOf(settings(), { acceptedBy: first.acceptedBy! }))
    expect(await again()).toMatchObject({ outcome: 'retry' })
    refusals = {}
    expect(await again()).toMatchObject({ outcome: 'delivered' })
    const [one, two] = host.received
    expect([host.received.length, one!.to, two!.to]).toEqual([2, ['ann@example.com'], ['bob@example.com']])
    expect([two!.from, two!.mail.to, two!.mail.messageId]).toEqual([one!.from, one!.mail.to, one!.mail.messageId])
  })

  test('nobody is left to take is delivered without a word', async () => {
    const sent = await destination.deliver(reportOf(), scopeOf(settings(), { acceptedBy: RECIPIENTS }))
    expect([sent.outcome, host.received]).toEqual(['delivered', []])
  })

  test('knows hosts that are written otherwise on the wire', async () => {
    refusals = { to: address => (address.startsWith('bob') ? 450 : undefined) }
    const recipients = ['Ann@Bücher.Example', 'bob@example.com']
    expect(await deliver({ recipients })).toMatchObject({ outcome: 'retry', acceptedBy: ['Ann@Bücher.Example'] })
  })

  test.each([
    [{ data: 554 }, 'reject'],
    [{ data: 451 }, 'retry'],
    [{ to: () => 550 }, 'reject'],
  ])('refused, %j: %s', async (refuse, outcome) => {
    refusals = refuse
    expect(await deliver()).toMatchObject({ outcome, httpStatus: null })
  })

  test('comes again where a setting may be mended', async () => {
    expect(await deliver({ password: 'wrong' })).toMatchObject({ outcome: 'retry', error: expect.stringContaining('535') })
    expect(await deliver({ recipients: undefined })).toMatchObject({ outcome: 'retry', error: 'no_recipients' })
    expect(await deliver({ recipients: [] })).toMatchObject({ outcome: 'retry', error: 'no_recipients' })
  })

  test('to the operator’s own network is refused', async () => {
    const sent = await emailReportDestination({ allowPrivateNetwork: false }).deliver(reportOf(), scopeOf(settings()))
    expect(sent).toMatchObject({ outcome: 'retry', error: 'address_refused' })
  })
})

describe('the test of an e-mail integration', () => {
  const tried = (more: object = {}) => destination.test!(scopeOf(settings(more)))

  test('sends to the recipients', async () => {
    expect(await tried()).toMatchObject({ outcome: 'delivered' })
    expect(host.received[0]).toMatchObject({ to: RECIPIENTS, mail: { subject: 'Connection test' } })
  })

  test('without recipients logs in and sends nothing', async () => {
    expect(await tried({ recipients: undefined })).toMatchObject({ outcome: 'delivered' })
    expect(await tried({ recipients: undefined, password: 'wrong' })).toMatchObject({
      outcome: 'retry',
      error: expect.stringContaining('535'),
    })
    expect(host.received).toEqual([])
  })
})
