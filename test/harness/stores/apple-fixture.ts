import type { ReportedPeriod, ReportedRenewal, Statement, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { outgoingFetch } from '../../../workflows/outgoing/fetch.ts'
import { outgoing } from '../../../workflows/outgoing/outgoing.ts'
import { type AppStore, appStore } from '../../../workflows/stores/apple/client.ts'
import type {
  Arrival,
  ClaimAnswer,
  FetchContext,
  NotificationRead,
  StoreAnswer,
  StoreSettings,
} from '../../../workflows/stores/store-client.ts'
import { type AppStoreServer, appStoreServer } from './app-store.ts'
import { type AppleChain, appleChain } from './apple-chain.ts'
import { APP_ID, type AppleNotification, BUNDLE } from './apple-jws.ts'

/** The time of all tests. */
export const NOW = Date.parse('2026-06-01T12:00:00Z')

export const appleSettings = (values: Record<string, string | null> = {}, enabled = true): StoreSettings => {
  const all: Record<string, string | null> = { bundle_id: BUNDLE, app_id: String(APP_ID), ...values }
  return { project: 7, enabled, value: name => all[name] ?? null }
}

export const arrivalOf = (body: Uint8Array | string): Arrival => ({
  body: Buffer.from(body),
  headers: { 'content-type': 'application/json' },
  address: 'https://perennial.example/stores/apple/7',
  receivedAtMs: NOW,
})

export type AppleFixture = {
  chain: AppleChain
  server: AppStoreServer
  store: AppStore
  /** Of a connected project. */
  settings: StoreSettings
  context: FetchContext
  /** What a notification says, read as it would be after its recording. */
  read(notification: AppleNotification): Promise<Extract<NotificationRead, { is: 'read' }>>
  close(): Promise<unknown>
}

/** A client of the App Store beside a server of its own, under a root of its own. */
export async function appleFixture({ patienceMs = 8_000, limitMs = 10_000 } = {}): Promise<AppleFixture> {
  const chain = appleChain()
  const server = await appStoreServer(chain, () => NOW)
  const out = outgoing({ allowPrivateNetwork: true })
  const fetch = outgoingFetch(out, { answerBytes: 8 * 1024 * 1024, limitMs })
  const store = appStore({ fetch, urls: server.urls, roots: [chain.root], onlineChecks: false, now: () => NOW, patienceMs })
  const settings = appleSettings(server.key)
  const context: FetchContext = { settings, environment: 'production', signal: new AbortController().signal }
  return {
    chain,
    server,
    store,
    settings,
    context,
    async read(notification) {
      const read = await store.read(notification, settings)
      if (read.is !== 'read') throw new Error(`ignored: ${notification.type}`)
      return read
    },
    close: () => Promise.all([server.close(), out.close()]),
  }
}

/** The only report of an answer; fails for every other answer. */
export function onlyReport(answer: StoreAnswer | ClaimAnswer | NotificationRead): StoreReport {
  if (answer.is !== 'reports' && answer.is !== 'read') throw new Error(`no reports, but ${JSON.stringify(answer)}`)
  if (answer.reports.length !== 1) throw new Error(`${answer.reports.length} reports`)
  return answer.reports[0]!
}

export const periodsIn = (statements: Statement[]) => statements.filter(statement => statement.kind === 'period')
export const renewalsIn = (statements: Statement[]) => statements.filter(statement => statement.kind === 'renewal')

/** What a notification says: of its one transaction, and of auto-renew. */
export type ReportedByApple = {
  report: StoreReport
  refresh: boolean
  period: ReportedPeriod
  renewal: ReportedRenewal
  renewalSubject: string | undefined
}

export async function reportedBy(fixture: AppleFixture, notification: AppleNotification): Promise<ReportedByApple> {
  const read = await fixture.read(notification)
  const report = onlyReport(read)
  const [period] = periodsIn(report.statements)
  const [renewal] = renewalsIn(report.statements)
  return {
    report,
    refresh: read.refresh,
    period: period?.reported ?? {},
    renewal: renewal?.reported ?? {},
    renewalSubject: renewal?.subject,
  }
}
