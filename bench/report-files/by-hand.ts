import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { PartRange } from '../../domain/reporting/exports/part-range.ts'
import { selectRows } from '../../domain/reporting/exports/statement.ts'
import type { Pool } from '../../store/connect.ts'
import { say } from '../report.ts'
import type { Resources } from '../resources.ts'

export type ByHand = { round(): Promise<{ seconds: number; node: number }> }

/** The whole window of each report. */
async function windowsOfReports(pool: Pool): Promise<PartRange[]> {
  const { rows } = await pool.query<PartRange>(
    `select p.environment::text, '' as platforms, '' as members_of, '-infinity' as updated_from, (p.next_slot - interval '7 days')::text as after_at, '-1' as after_1, '-1' as after_2,
       p.next_slot::text as upto_at, '-1' as upto_1, '-1' as upto_2, array_fill(0, array[64])::text as from_offsets,
       (select array_agg(next_offset order by partition)::text from log_positions l where l.environment = p.environment) as to_offsets
     from scheduled_reports p order by p.number`,
  )
  return rows
}

/** Starts the loop by hand in a process of its own. */
export async function startByHand(resources: Resources, pool: Pool, database: string, receiver: string): Promise<ByHand> {
  const script = new URL('../peers/report-files.mjs', import.meta.url).pathname
  const child = spawn(process.execPath, [script, database], { stdio: ['pipe', 'pipe', 'inherit'] })
  resources.undo(async () => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the loop by hand has ended')
    return JSON.parse(value)
  }
  await next()
  return {
    async round() {
      const selects = (await windowsOfReports(pool)).map(range => selectRows({ type: 'events', format: 'csv' }, range))
      child.stdin.write(`${JSON.stringify({ selects, receiver })}\n`)
      const answer: { seconds: number; node: number } = await next()
      say(`  by hand: ${answer.seconds.toFixed(1)} s, ${answer.node.toFixed(2)} ms`)
      return answer
    },
  }
}
