import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { selectRows } from '../../domain/reporting/exports/statement.ts'
import type { Pool } from '../../store/connect.ts'
import { say } from '../report.ts'
import type { Resources } from '../resources.ts'

export type ByHand = { round(): Promise<{ seconds: number; node: number }> }

const SELECT = selectRows({ type: 'events', format: 'csv' })

/** The product's select of a file's rows, with the window and the environment as literals. */
const selectOf = (settings: Record<string, string>): string =>
  SELECT.replace(/current_setting\('perennial\.(\w+)'\)/g, (_, name: string) => `'${settings[name]}'`)

/** What the settings of a part are for the file of a whole window. */
async function settingsOfReports(pool: Pool): Promise<Record<string, string>[]> {
  const { rows } = await pool.query<Record<string, string>>(
    `select p.environment::text, '' as platforms, '' as members_of, (p.next_slot - interval '7 days')::text as after_at, '-1' as after_1, '-1' as after_2,
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
      const selects = (await settingsOfReports(pool)).map(selectOf)
      child.stdin.write(`${JSON.stringify({ selects, receiver })}\n`)
      const answer: { seconds: number; node: number } = await next()
      say(`  by hand: ${answer.seconds.toFixed(1)} s, ${answer.node.toFixed(2)} ms`)
      return answer
    },
  }
}
