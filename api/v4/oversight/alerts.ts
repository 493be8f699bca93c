import { type AlertRow, listAlerts } from '../../../domain/oversight/alerts/alert.ts'
import { shownAlert } from '../../../domain/oversight/alerts/kinds.ts'
import { onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'

const shown = ({ created_at, ...row }: AlertRow) => ({
  object: 'alert' as const,
  url: `/v4/alerts/${row.id}`,
  status: row.ended_at === null ? ('open' as const) : ('ended' as const),
  ...shownAlert({ ...row, began_at: created_at }),
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
