import { LEDGER_KINDS } from '../../../domain/durable/ledger-history/history.ts'
import { invalidField } from '../../../domain/kernel/refusal.ts'
import { ledgerWindow, readLedger } from '../../../domain/oversight/ledger/read.ts'
import { apiTime } from '../../../store/connect.ts'
import { expensiveRead } from '../../operation.ts'
import { MAX_WINDOW_MS } from '../../time.ts'

export const v4GetLedger = expensiveRead('v4GetLedger', async ({ query, environment, db }) => {
  const given = await ledgerWindow(db, environment, query)
  const [from, to] = [apiTime(given.from), apiTime(given.to)]
  const length = Date.parse(to) - Date.parse(from)
  if (length <= 0) throw invalidField(query.to === undefined ? 'from' : 'to', 'must make a window: to later than from')
  if (length > MAX_WINDOW_MS) throw invalidField(query.from === undefined ? 'to' : 'from', 'must be at most 366 days before to')
  const { window, entries } = await readLedger(db, environment, query.kind === undefined ? LEDGER_KINDS : [query.kind], given)
  return {
    body: {
      object: 'ledger' as const,
      url: '/v4/ledger' as const,
      from: apiTime(window.from),
      to: apiTime(window.to),
      generated_at: apiTime(window.now),
      data: entries,
    },
  }
})
