import { type AlertRow, listAlerts } from '../../domain/alerts/alert.ts'
import { HOLDERS, sentenceOf } from '../../domain/alerts/kinds.ts'
import { onPool } from '../operation.ts'
import { cursorPage, restartedHeader } from '../pagination.ts'

const shown = (row: AlertRow) => ({
  object: 'alert' as const,
  id: row.id,
  url: `/v4/alerts/${row.id}`,
  kind: row.kind,
  status: row.ended_at === null ? ('open' as const) : ('ended' as const),
  holder: { kind: HOLDERS[row.kind], id: row.holder, title: row.title },
  about: row.about === '' ? null : row.about,
  message: sentenceOf(row),
  detail: row.detail,
  count: row.count,
  began_at: row.created_at,
  last_at: row.last_at,
  ended_at: row.ended_at,
  messages: row.messages,
})

export const v4ListAlerts = onPool('v4ListAlerts', async ({ query, environment, db }) => {
  const { limit, starting_after: after } = query
  const status = query['filter[status]']
  const { rows, restarted } = await listAlerts(db, environment, {
    isOpen: status && status === 'open',
    kinds: query['filter[kind][]'] ?? [],
    limit,
    after,
  })
  return { body: cursorPage({ url: '/v4/alerts', rows, limit, item: shown }), headers: restartedHeader(restarted) }
})
