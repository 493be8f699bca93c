import { LEDGER_KINDS, type LedgerKind } from '../../../domain/durable/ledger-history/history.ts'
import type { Environment } from '../../../domain/kernel/environment.ts'
import { invalidField } from '../../../domain/kernel/refusal.ts'
import type { LedgerWindow } from '../../../domain/oversight/ledger/counts.ts'
import { ledgerWindow, readLedger } from '../../../domain/oversight/ledger/read.ts'
import { type LedgerRow, readLedgerRows } from '../../../domain/oversight/ledger/rows.ts'
import { permits } from '../../../domain/projects/authority.ts'
import { apiTime, type Db } from '../../../store/connect.ts'
import { expensiveRead } from '../../operation.ts'
import { restartedHeader } from '../../pagination.ts'
import { MAX_WINDOW_MS, wholeSeconds } from '../../time.ts'

async function windowOf(db: Db, environment: Environment, query: { from?: string; to?: string }): Promise<LedgerWindow> {
  const given = await ledgerWindow(db, environment, query)
  const length = Date.parse(apiTime(given.to)) - Date.parse(apiTime(given.from))
  if (length <= 0) throw invalidField(query.to === undefined ? 'from' : 'to', 'must make a window: to later than from')
  if (length > MAX_WINDOW_MS) throw invalidField(query.from === undefined ? 'to' : 'from', 'must be at most 366 days before to')
  return given
}

const shownWindow = ({ from, to, now }: LedgerWindow) => ({ from: apiTime(from), to: apiTime(to), generated_at: apiTime(now) })

export const v4GetLedger = expensiveRead('v4GetLedger', async ({ query, environment, db }) => {
  const given = await windowOf(db, environment, query)
  const { window, entries } = await readLedger(db, environment, query.kind === undefined ? LEDGER_KINDS : [query.kind], given)
  return { body: { object: 'ledger' as const, url: '/v4/ledger' as const, ...shownWindow(window), data: entries } }
})

/** Where the things of a kind are read, and what a principal must be allowed to see whose they are, and their names. */
const OF: Record<LedgerKind, { scope: string; parent: string; parents: string; url: (row: LedgerRow) => string }> = {
  report_slots: {
    ...{ scope: 'scheduled_reports:read', parent: 'scheduled_report', parents: '/v4/scheduled-reports/' },
    url: ({ id }) => `/v4/scheduled-report-runs/${id}`,
  },
  automation_runs: {
    ...{ scope: 'automations:read', parent: 'automation', parents: '/v4/automations/' },
    url: ({ id }) => `/v4/automation-runs/${id}`,
  },
  deliveries: {
    ...{ scope: 'integrations:read', parent: 'integration', parents: '/v4/integrations/' },
    url: ({ id, parent }) => `/v4/integrations/${parent?.id}/deliveries/${id}`,
  },
  exports: { scope: 'exports:read', parent: 'none', parents: '', url: ({ id }) => `/v4/exports/${id}` },
}

// A page of what is overdue looks at all of it.
export const v4ListLedgerRows = expensiveRead('v4ListLedgerRows', async ({ query, principal, environment, deps }) => {
  const { kind, state, outcome, reason, limit, starting_after: after } = query
  const { scope, parent, parents, url } = OF[kind]
  if (state === 'held' && kind !== 'deliveries') throw invalidField('state', 'must be another one: deliveries alone are held')
  const given = await windowOf(deps.listing, environment, query)
  const page = await readLedgerRows(deps.listing, environment, { kind, state, outcome, reason, limit, after }, given)
  const isOpen = permits(principal.scopes, scope)
  const shown = (row: LedgerRow) => ({
    ...{ object: 'ledger_row' as const, kind, state, id: row.id, url: row.id === null ? null : url(row) },
    ...{ at: wholeSeconds(row.micros / 1000), due_at: row.due_at === null ? null : wholeSeconds(row.due_at) },
    ...{ outcome: row.outcome, reason: row.reason, customer_uid: isOpen ? row.user_id : null },
    parent: row.parent && {
      kind: parent as 'automation',
      id: row.parent.id,
      name: isOpen ? row.parent.name : null,
      url: `${parents}${row.parent.id}`,
    },
  })
  const list = {
    ...{ object: 'list' as const, url: '/v4/ledger/rows' as const, ...shownWindow(page.window), removed: page.removed },
    data: page.rows.map(shown),
  }
  const body = page.next === null ? { ...list, has_more: false } : { ...list, has_more: true, next_cursor: page.next }
  return { body, headers: restartedHeader(page.restarted) }
})
