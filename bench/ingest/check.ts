import type { Pool } from '../../store/connect.ts'
import { thousands } from '../report.ts'
import { IS_SENT, STARTS_RUN } from './items.ts'

const LOG = `select count(*)::int as events, count(distinct event_id)::int as distinct, (select sum(next_offset)::int from log_positions) as offsets,
    (select count(*)::int from (select partition from events group by environment, partition
       having min(log_offset) <> 0 or max(log_offset) + 1 <> count(*)) gaps) as gaps,
    (select count(*)::int from inserted_events) as inserted, (select count(*)::int from by_hand_events) as "byHand",
    count(*) filter (where name = '${STARTS_RUN}')::int as starting, (select count(*)::int from automation_runs) as runs,
    count(*) filter (where name = '${IS_SENT}' and platform = 'iOS')::int as sent, (select count(*)::int from deliveries) as deliveries
  from events`

/**
 * Throws when an event is lost or stored twice, when an offset is left out, when an event has no run or no delivery, or when a peer wrote another
 * number of rows.
 */
export async function checkLog(pool: Pool, sent: number): Promise<void> {
  const { rows } = await pool.query(LOG)
  const found = rows[0]
  console.log(
    `check: ${thousands(found.events)} of ${thousands(sent)} events stored, ${thousands(found.offsets)} offsets taken, partitions with a gap: ${found.gaps}, ${thousands(found.runs)} runs, ${thousands(found.deliveries)} deliveries`,
  )
  const complete = [found.events, found.distinct, found.offsets, found.inserted, found.byHand].every(count => count === sent)
  if (!complete || found.gaps !== 0 || found.runs !== found.starting || found.deliveries !== found.sent)
    throw new Error(`the log differs from what was sent: ${JSON.stringify(found)}`)
}

const SUMS = {
  product: `select sum(payments_count)::int as payments, round(sum(net_payments_usd), 2)::text as usd, (select count(*)::int from subscriptions) as subscriptions
    from users`,
  'by hand': `select sum(payments)::int as payments, round(sum(net_usd), 2)::text as usd, (select count(*)::int from by_hand_subscriptions) as subscriptions
    from by_hand_sums`,
}

/** Throws when the product and the peer by hand have counted differently. */
export async function checkSums(pool: Pool): Promise<void> {
  const lines: string[] = []
  for (const [side, statement] of Object.entries(SUMS)) {
    const { payments, usd, subscriptions } = (await pool.query(statement)).rows[0]
    lines.push(`${thousands(payments)} payments, ${usd} USD net, ${thousands(subscriptions)} subscriptions`)
    console.log(`check, ${side}: ${lines.at(-1)}`)
  }
  if (lines[0] !== lines[1]) throw new Error('the product and the peer by hand have counted differently')
}
