import { createServer, type Server, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Mail, type MailServer, sendMail, tryLogin } from '../../workflows/outgoing/smtp.ts'
import { smtpServer } from '../../workflows/outgoing/smtp-url.ts'
import { CERTIFICATE } from '../harness/certificate.ts'
import { type MailHost, mailHost, type Refusals } from '../harness/mail.ts'

const OPEN = { guard: { allowPrivateNetwork: true }, signal: new AbortController().signal, limitMs: 5000 }
const TRUSTING = { ...OPEN, ca: CERTIFICATE }
const mail: Mail = {
  from: 'Shop <shop@example.com>',
  to: ['ann@example.com'],
  subject: 'Grüße 😀',
  text: 'Line one\n.\nLine 😀',
  messageId: '<run_1.step@example.com>',
}
const server = (port: number, more: Partial<MailServer> = {}): MailServer => ({
  host: '127.0.0.1',
  port,
  secure: false,
  requireTls: false,
  login: null,
  ...more,
})

let refusals: Refusals = {}
let plain: MailHost
let secure: MailHost
let starting: MailHost
let closed: MailHost
const login = { user: 'ann@example.com', pass: 'p:a s/s' }
beforeAll(async () => {
  plain = await mailHost({ refuse: () => refusals })
  secure = await mailHost({ secure: true, login })
  starting = await mailHost({ startTls: true, login })
  closed = await mailHost({ login })
})
afterAll(() => Promise.all([plain, secure, starting, closed].map(host => host.close())))
afterEach(() => {
  refusals = {}
})

describe('a mail', () => {
  test('arrives as it is, with its Message-ID', async () => {
    expect(await sendMail(server(plain.port), mail, OPEN)).toEqual({ is: 'accepted', by: mail.to, refused: [] })
    const got = plain.received.at(-1)!
    expect(got).toMatchObject({ from: 'shop@example.com', to: ['ann@example.com'] })
    expect(got.mail).toMatchObject({
      from: { name: 'Shop', address: 'shop@example.com' },
      to: [{ name: '', address: 'ann@example.com' }],
      subject: mail.subject,
      messageId: mail.messageId,
    })
    expect(got.mail.text?.trimEnd()).toBe(mail.text)
  })

  test('cannot be given other headers or recipients by what it says', async () => {
    const subject = 'Hi\r\nBcc: eve@example.com\r\n\r\nbody'
    const from = 'Shop\r\nX-Evil: 1 <shop@example.com>'
    const messageId = '<a@b>\r\nBcc: eve@example.com'
    await sendMail(server(plain.port), { ...mail, subject, from, messageId }, OPEN)
    const got = plain.received.at(-1)!
    expect(got.to).toEqual(['ann@example.com'])
    expect(got.raw).not.toMatch(/^(bcc|x-evil)/im)
    expect(got.mail.subject).toBe('Hi Bcc: eve@example.com body')
  })

  test.each([
    'ann@example.com\r\nRCPT TO:<eve@example.com>',
    'ann@example.com>\r\nDATA',
    'ann@example.com, eve@example.com',
  ])('to %j reaches nobody else', async to => {
    const before = plain.received.length
    const outcome = await sendMail(server(plain.port), { ...mail, to: [to] }, OPEN)
    expect(plain.received.slice(before).flatMap(got => got.to)).not.toContain('eve@example.com')
    expect(outcome.is).toBe('rejected')
  })

  test.each([
    [{ from: 550 }, 550],
    [{ to: () => 550 }, 550],
    [{ data: 554 }, 554],
  ])('is rejected for good: %j', async (refuse, code) => {
    refusals = refuse
    expect(await sendMail(server(plain.port), mail, OPEN)).toMatchObject({ is: 'rejected', code, atLogin: false })
  })

  test.each([
    [{ from: 451 }, 451],
    [{ to: () => 450 }, 450],
    [{ data: 452 }, 452],
  ])('fails for now: %j', async (refuse, code) => {
    refusals = refuse
    expect(await sendMail(server(plain.port), mail, OPEN)).toEqual({ is: 'failed', code, error: expect.stringContaining(String(code)) })
  })

  test('taken for some of its recipients tells the others', async () => {
    refusals = { to: address => (address.startsWith('bob') ? 550 : undefined) }
    const outcome = await sendMail(server(plain.port), { ...mail, to: ['ann@example.com', 'bob@example.com'] }, OPEN)
    expect(outcome).toEqual({
      is: 'accepted',
      by: ['ann@example.com'],
      refused: [{ address: 'bob@example.com', code: 550, reply: expect.stringContaining('550') }],
    })
  })
})

describe('a login', () => {
  test.each([
    ['TLS from the first byte on', () => secure, { secure: true }],
    ['STARTTLS', () => starting, { requireTls: true }],
    ['STARTTLS that is offered', () => starting, {}],
  ])('by %s is encrypted', async (_what, host, more) => {
    expect(await sendMail(server(host().port, { ...more, login }), mail, TRUSTING)).toEqual({ is: 'accepted', by: mail.to, refused: [] })
    expect(host().received.at(-1)).toMatchObject({ user: login.user, secure: true })
    expect(await tryLogin(server(host().port, { ...more, login, host: 'localhost' }), TRUSTING)).toEqual({
      is: 'accepted',
      by: [],
      refused: [],
    })
  })

  test('with a wrong password is told from other refusals', async () => {
    const wrong = { login: { ...login, pass: 'x' } }
    const outcome = { is: 'rejected', code: 535, atLogin: true }
    expect(await sendMail(server(closed.port, wrong), mail, OPEN)).toMatchObject(outcome)
    expect(await tryLogin(server(closed.port, wrong), OPEN)).toMatchObject(outcome)
    expect(closed.received).toEqual([])
  })

  test.each([
    ['secure', () => secure, { secure: true }],
    ['STARTTLS', () => starting, {}],
  ])('goes to no server whose certificate nobody vouches for: %s', async (_what, host, more) => {
    const before = host().received.length
    expect(await sendMail(server(host().port, { ...more, login }), mail, OPEN)).toEqual({ is: 'failed', code: null, error: 'tls_failed' })
    expect(host().received).toHaveLength(before)
  })

  test('is not sent in clear where encryption is required', async () => {
    const outcome = await sendMail(server(closed.port, { requireTls: true, login }), mail, OPEN)
    expect(outcome).toEqual({ is: 'failed', code: null, error: 'tls_failed' })
    expect(closed.received).toEqual([])
  })
})

describe('a server', () => {
  const servers: Server[] = []
  const sockets: Socket[] = []
  /** A TCP server that behaves as told from the first moment on. */
  async function hostile(behave: (socket: Socket) => void): Promise<number> {
    const made = createServer(socket => {
      sockets.push(socket.on('error', () => {}))
      behave(socket)
    })
    servers.push(made)
    await new Promise<void>(resolve => made.listen(0, '127.0.0.1', resolve))
    return (made.address() as { port: number }).port
  }
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    return Promise.all(servers.map(made => new Promise(resolve => made.close(resolve))))
  })
  /** Answers commands by what they begin with; `''` is the greeting. */
  const answering = (replies: Record<string, string>) => (socket: Socket) => {
    socket.write(replies['']!)
    socket.on('data', data => {
      for (const line of data.toString().split('\r\n').filter(Boolean)) socket.write(replies[line.split(/[ :]/)[0]!.toUpperCase()] ?? '')
    })
  }

  test.each([
    ['says nothing', () => {}],
    ['says hello and nothing more', (socket: Socket) => void socket.write('220 hi\r\n')],
    [
      'takes the mail and does not say so',
      answering({ '': '220 hi\r\n', EHLO: '250 hi\r\n', MAIL: '250 ok\r\n', RCPT: '250 ok\r\n', DATA: '354 go\r\n' }),
    ],
    ['drips', (socket: Socket) => void setInterval(() => socket.writable && socket.write('2'), 20).unref()],
  ])('that %s is left after the limit', async (_what, behave) => {
    const began = performance.now()
    const outcome = await sendMail(server(await hostile(behave)), mail, { ...OPEN, limitMs: 300 })
    expect(outcome).toEqual({ is: 'failed', code: null, error: 'timeout' })
    expect(performance.now() - began).toBeLessThan(3000)
  })

  test.each([
    ['closes at once', (socket: Socket) => void socket.end()],
    ['resets', (socket: Socket) => void socket.resetAndDestroy()],
    ['closes after its greeting', (socket: Socket) => void socket.end('220 hi\r\n')],
  ])('that %s is a failure of the connection', async (_what, behave) => {
    const outcome = await sendMail(server(await hostile(behave)), mail, OPEN)
    expect(outcome).toEqual({ is: 'failed', code: null, error: 'connection_failed' })
  })

  test('that is not there, or speaks no SMTP, is a failure', async () => {
    const port = await hostile(socket => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    expect(await sendMail(server(port), mail, OPEN)).toMatchObject({ is: 'failed' })
    servers.at(-1)!.close()
    expect(await sendMail(server(port), mail, OPEN)).toEqual({ is: 'failed', code: null, error: 'connection_failed' })
  })

  test('of the operator’s own network is not connected to', async () => {
    const before = plain.connections
    for (const host of ['127.0.0.1', 'localhost', '::1'])
      expect(await sendMail(server(plain.port, { host }), mail, { ...OPEN, guard: { allowPrivateNetwork: false } })).toEqual({
        is: 'failed',
        code: null,
        error: 'address_refused',
      })
    expect(plain.connections).toBe(before)
  })

  test('is left when the lease is lost, and the attempt has no result', async () => {
    const lease = new AbortController()
    let left: () => void
    const leaving = new Promise<void>(resolve => {
      left = resolve
    })
    const port = await hostile(socket => {
      socket.on('close', () => left())
      lease.abort(new Error('lost'))
    })
    await expect(sendMail(server(port), mail, { ...OPEN, signal: lease.signal })).rejects.toThrow('lost')
    await leaving
  })
})

test.each([
  ['smtp://mail.example.com', { host: 'mail.example.com', port: 587, secure: false, requireTls: false, login: null }],
  ['smtps://mail.example.com', { host: 'mail.example.com', port: 465, secure: true, requireTls: false, login: null }],
  [
    'smtp://a%40b.c:p%3Aa%2Fs@[::1]:25?requireTLS=true',
    { host: '::1', port: 25, secure: false, requireTls: true, login: { user: 'a@b.c', pass: 'p:a/s' } },
  ],
  [
    'smtp://a:100%@mail.example.com',
    { host: 'mail.example.com', port: 587, secure: false, requireTls: true, login: { user: 'a', pass: '100%' } },
  ],
])('%s names a server', (url, expected) => expect(smtpServer(url)).toEqual(expected))
