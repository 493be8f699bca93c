import type { Tx } from '../../store/connect.ts'
import { wakeRuns } from '../jobs/wake-runs.ts'

type EndedDelivery = { environment: number; run_id: string | null }

/** Wakes the automation runs that wait for these deliveries. */
export async function wakeWaitingRuns(tx: Tx, ended: readonly EndedDelivery[]): Promise<void> {
  const waiting = ended.filter((delivery): delivery is { environment: number; run_id: string } => delivery.run_id !== null)
  if (waiting.length === 0) return
  const { rows } = await tx.query<{ environment: number; number: number }>({
    name: 'runs-of-deliveries',
    text: `select r.environment, r.number from unnest($1::int[], $2::text[]) w(environment, id)
           cross join lateral (select environment, number from automation_runs where environment = w.environment and id = w.id limit 1) r`,
    values: [waiting.map(({ environment }) => environment), waiting.map(({ run_id }) => run_id)],
  })
  for (const [environment, runs] of Map.groupBy(rows, row => row.environment)) {
    await wakeRuns(
      tx,
      environment,
      runs.map(({ number }) => number),
    )
  }
}
