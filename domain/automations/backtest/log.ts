import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../environment.ts'
import type { LogEvent } from '../../log/consumer.ts'

export type Window = { from: string; to: string }

const PAGE = 1_000

const NEXT = `
  select partition, log_offset, id, name, user_id, platform, happened_at::text, received_at::text, triggers from events
  where environment = $1 and (received_at, partition, log_offset) > ($2, $3, $4) and received_at < $5 and name = any ($6::text[]) and triggers
  order by received_at, partition, log_offset limit ${PAGE}`

/** The events of the window that may start something, page by page in the order in which they were received. */
export async function* pagesOf(
  db: Db,
  environment: Environment,
  names: readonly string[],
  { from, to }: Window,
): AsyncGenerator<LogEvent[], void> {
  // Before the first place of the first instant: there is no partition -1.
  let after: unknown[] = [from, -1, -1]
  for (;;) {
    const { rows } = await db.query<LogEvent>({ name: 'backtest-page', text: NEXT, values: [environment, ...after, to, names] })
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (rows.length < PAGE || !last) return
    after = [last.received_at, last.partition, last.log_offset]
  }
}
