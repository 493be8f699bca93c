import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts'

export type Received = { from: string; to: string[]; user: string | null; secure: boolean; raw: string; mail: Email }

export type MailHost = {
  port: number
  /** The received mails, oldest first. */
  received: Received[]
  connections: number
  /** Mails without an answer. */
  hanging: number
  close(): Promise<void>
}

/** The status with which the server refuses each command; without one it accepts the command. */
export type Refusals = { from?: number; to?: (address: string) => number | undefined; data?: number }

type Options = {
  secure?: boolean
  startTls?: boolean
  login?: { user: string; pass: string }
  /** Called for every command. */
  refuse?: () => Refusals
  /** Mails to these addresses get no answer. */
  hangsFor?: (address: string) => boolean
  /** The server refuses further connections. */
  maxClients?: number
}

const refusal = (code: number | undefined) => (code ? Object.assign(new Error(`no: ${code}`), { responseCode: code }) : null)

/** A real mail server on localhost. */
export async function mailHost({
  secure = false,
  startTls = false,
  login,
  refuse = () => ({}),
  hangsFor = () => false,
  maxClients = Number.POSITIVE_INFINITY,
}: Options = {}): Promise<MailHost> {
  const server = new SMTPServer({
    secure,
    key: CERTIFICATE_KEY,
    cert: CERTIFICATE,
    disabledCommands: startTls ? [] : ['STARTTLS'],
    authOptional: !login,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 100,
    maxClients,
    onConnect(_session, done) {
      host.connections++
      done()
    },
    onAuth({ username = '', password }, _session, done) {
      const isKnown = username === login?.user && password === login.pass
      if (isKnown) done(null, { user: username })
      else done(refusal(535))
    },
    onMailFrom: (_address, _session, done) => done(refusal(refuse().from)),
    onRcptTo({ address }, _session, done) {
      if (hangsFor(address)) host.hanging++
      else done(refusal(refuse().to?.(address)))
    },
    onData(stream, { envelope, user, secure }, done) {
      const chunks: Buffer[] = []
      stream.on('data', chunk => chunks.push(chunk))
      stream.on('end', async () => {
        const code = refuse().data
        if (code) return done(refusal(code))
        const raw = Buffer.concat(chunks).toString()
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        const to = envelope.rcptTo.map(({ address }) => address)
        host.received.push({ from, to, user: user ? String(user) : null, secure, raw, mail: await PostalMime.parse(raw) })
        done()
      })
    },
  })
  server.on('error', () => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const host: MailHost = {
    port: (server.server.address() as AddressInfo).port,
    received: [],
    connections: 0,
    hanging: 0,
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
  return host
}
