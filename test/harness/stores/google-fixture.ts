import type { ReportedPeriod, ReportedRenewal, Statement, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { googleTokens } from '../../../workflows/outgoing/google-token.ts'
import { type Outgoing, outgoing } from '../../../workflows/outgoing/outgoing.ts'
import { type GooglePlay, googlePlay } from '../../../workflows/stores/google/client.ts'
import type { ClaimAnswer, FetchContext, StoreAnswer, StoreSettings } from '../../../workflows/stores/store-client.ts'
import { PACKAGE, type PlayServer, playServer } from './google.ts'

export const ADDRESS = 'https://perennial.example/stores/google/7'

export type PlayFixture = {
  google: PlayServer
  out: Outgoing
  play: GooglePlay
  settings: StoreSettings
  context: FetchContext
  unknownWords: string[]
  close(): Promise<unknown>
}

export const settingsWith = (values: Record<string, string | null>, enabled = true): StoreSettings => ({
  project: 7,
  enabled,
  value: name => values[name] ?? null,
})

/** A client of Google Play beside a server of its own. */
export async function playFixture(now: () => number = Date.now): Promise<PlayFixture> {
  const google = await playServer()
  const out = outgoing({ allowPrivateNetwork: true })
  const unknownWords: string[] = []
  const play = googlePlay({
    outgoing: out,
    tokens: googleTokens(out),
    apiUrl: google.url,
    certsUrl: google.certsUrl,
    now,
    unknownWord: (field, word) => unknownWords.push(`${field} ${word}`),
  })
  const settings = settingsWith({ package_name: PACKAGE, service_account_key: google.serviceAccountKey })
  const context: FetchContext = { settings, environment: 'production', signal: new AbortController().signal }
  return { google, out, play, settings, context, unknownWords, close: () => Promise.all([google.close(), out.close()]) }
}

/** The reports of an answer; fails for every other answer. */
export function reportsOf(answer: StoreAnswer | ClaimAnswer): StoreReport[] {
  if (answer.is !== 'reports') throw new Error(`no reports, but ${JSON.stringify(answer)}`)
  return answer.reports
}

const latestOf = <Fields extends object>(statements: (Statement & { reported: Fields })[]): Fields =>
  Object.assign({}, ...statements.toSorted((a, b) => a.statedAt - b.statedAt).map(({ reported }) => reported))

/** What counts after some statements: of every field of a transaction, the latest word. In the order of the periods. */
export function periodsOf(statements: Statement[]): (ReportedPeriod & { subject: string })[] {
  const periods = statements.filter(statement => statement.kind === 'period')
  return [...new Set(periods.map(({ subject }) => subject))]
    .map(subject => ({ subject, ...latestOf(periods.filter(statement => statement.subject === subject)) }))
    .sort((a, b) => ((a.begins ?? '') < (b.begins ?? '') ? -1 : 1))
}

export const renewalOf = (statements: Statement[]): ReportedRenewal =>
  latestOf(statements.filter(statement => statement.kind === 'renewal'))
