import type { AutomationData } from '../../domain/automation-runs/definition.ts'
import { getAutomation } from '../../domain/automations/automation.ts'
import { backtest } from '../../domain/automations/backtest/backtest.ts'
import type { BacktestTurns } from '../../domain/automations/backtest/turns.ts'
import { checkReferences, missingThing, refuseFaulty } from '../../domain/automations/check.ts'
import { completeData } from '../../domain/automations/complete.ts'
import type { DataInput } from '../../domain/automations/input.ts'
import type { Environment } from '../../domain/environment.ts'
import { invalidField } from '../../domain/refusal.ts'
import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { preparedTransaction } from '../operation.ts'

/** Longest window, as its two ends are given. */
const MAX_WINDOW_MS = 366 * 24 * 3600 * 1000

/** The stored data of the automation, or what is to be tried in its place, judged alike. */
async function dataOf(tx: Tx, environment: Environment, id: string, given: DataInput | undefined): Promise<AutomationData> {
  const { data: stored } = await getAutomation(tx, environment, id)
  if (!given) return stored
  const data = completeData(given)
  refuseFaulty(data)
  const [missing] = await checkReferences(tx, environment, data)
  if (missing) throw missingThing(missing)
  return data
}

const wholeSeconds = (time: string) => `${new Date(time).toISOString().slice(0, 19)}Z`

type Asked = { from: string; to: string; data?: DataInput }

async function play(db: Pool, turns: BacktestTurns, environment: Environment, id: string, body: Asked) {
  const { from, to } = body
  const length = Date.parse(to) - Date.parse(from)
  if (length <= 0) throw invalidField('to', 'must be later than from')
  if (length > MAX_WINDOW_MS) throw invalidField('to', 'must be at most 366 days after from')
  const data = await transaction(db, tx => dataOf(tx, environment, id, body.data))
  // One state of the log and the users from the first page to the last.
  return turns(environment, () => transaction(db, tx => backtest(tx, environment, data, { from, to }), undefined, 'repeatable read'))
}

export const v4BacktestAutomation = preparedTransaction(
  'v4BacktestAutomation',
  ({ path, body, environment, db, deps }) => play(db, deps.backtests, environment, path.automation_id, body as Asked),
  async ({ path, body, prepared }) => ({
    body: {
      object: 'automation_backtest' as const,
      url: `/v4/automations/${path.automation_id}/backtest`,
      from: wholeSeconds(body.from),
      to: wholeSeconds(body.to),
      ...prepared,
    },
  }),
)
