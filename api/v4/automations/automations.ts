import { foldPresent } from '../../../domain/analytics/folding/drain.ts'
import { activityOfAutomations } from '../../../domain/automations/activity.ts'
import {
  type Automation,
  type AutomationChange,
  deleteAutomation,
  getAutomation,
  listAutomations,
} from '../../../domain/automations/automation.ts'
import type { AutomationData } from '../../../domain/automations/automation-runs/definition.ts'
import { backtest } from '../../../domain/automations/backtest/backtest.ts'
import type { BacktestTurns } from '../../../domain/automations/backtest/turns.ts'
import { completeData } from '../../../domain/automations/complete.ts'
import { createAutomation } from '../../../domain/automations/create.ts'
import type { AutomationInput, DataInput } from '../../../domain/automations/input.ts'
import { changeAutomationStatus } from '../../../domain/automations/status.ts'
import { updateAutomation } from '../../../domain/automations/update.ts'
import { checkReferences, missingThing, refuseFaulty } from '../../../domain/automations/validate-references.ts'
import { slugOf } from '../../../domain/events/catalogue.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import type { Environment } from '../../../domain/kernel/environment.ts'
import { invalidField } from '../../../domain/kernel/refusal.ts'
import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { inTransaction, onPool, preparedTransaction } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import type { StatementTurn } from '../../request-turns.ts'
import { MAX_WINDOW_MS, wholeSeconds } from '../../time.ts'

const automation = ({ id, name, caption, status, data, version, created_at, updated_at }: Automation) => ({
  object: 'automation' as const,
  id,
  url: `/v4/automations/${id}`,
  name,
  caption,
  status,
  data,
  version,
  created_at,
  updated_at,
})

const changed = ({ before, after }: AutomationChange & { before: Automation }) => ({
  resource: 'automation',
  id: after.id,
  before: automation(before),
  after: automation(after),
})

type Body = Omit<AutomationInput, 'caption'> & { caption?: string }
const input = ({ name, caption = '', status, data }: Body): AutomationInput => ({ name, caption, status, data })

export const v4ListAutomations = onPool('v4ListAutomations', async ({ query, environment, db }) => {
  const { limit, starting_after: after, 'filter[status][]': statuses, 'filter[event]': event } = query
  // No automation starts with what is no event type.
  const slug = event === undefined ? undefined : (slugOf(event) ?? event)
  const { rows, restarted } = await listAutomations(db, environment, { limit, after, statuses, event: slug })
  const activities = await activityOfAutomations(
    db,
    environment,
    rows.slice(0, limit).map(({ id }) => id),
  )
  const item = (row: Automation) => ({ ...automation(row), activity: activities.get(row.id)! })
  return { body: cursorPage({ url: '/v4/automations', rows, limit, item }), headers: restartedHeader(restarted) }
})

export const v4CreateAutomation = inTransaction('v4CreateAutomation', async ({ body, environment, trail, tx }) => {
  const made = automation(await createAutomation(tx, environment, input(body as Body), trail.actor))
  await audit(tx, trail, { resource: 'automation', id: made.id, after: made })
  return { body: made }
})

export const v4GetAutomation = onPool('v4GetAutomation', async ({ path, environment, db }) => {
  const found = await getAutomation(db, environment, path.automation_id)
  const activities = await activityOfAutomations(db, environment, [found.id])
  return { body: { ...automation(found), activity: activities.get(found.id)! } }
})

export const v4UpdateAutomation = inTransaction('v4UpdateAutomation', async ({ path, body, environment, trail, tx }) => {
  const options = { actor: trail.actor, updatedAt: body.updated_at }
  const { before, after } = await updateAutomation(tx, environment, path.automation_id, input(body as Body), options)
  if (before) await audit(tx, trail, changed({ before, after }))
  return { body: automation(after) }
})

export const v4DeleteAutomation = inTransaction('v4DeleteAutomation', async ({ path, environment, trail, tx }) => {
  const before = automation(await deleteAutomation(tx, environment, path.automation_id))
  await audit(tx, trail, { resource: 'automation', id: before.id, before })
  return { body: undefined }
})

export const v4UpdateAutomationStatus = inTransaction('v4UpdateAutomationStatus', async ({ path, body, environment, trail, tx }) => {
  const { before, after } = await changeAutomationStatus(tx, environment, path.automation_id, body.status)
  if (before) await audit(tx, trail, changed({ before, after }))
  return { body: undefined }
})

/** The stored data of the automation, or the given data instead, validated by the same rules. */
async function dataOf(tx: Tx, environment: Environment, id: string, given: DataInput | undefined): Promise<AutomationData> {
  const { data: stored } = await getAutomation(tx, environment, id)
  if (!given) return stored
  const data = completeData(given)
  refuseFaulty(data)
  const [missing] = await checkReferences(tx, environment, data)
  if (missing) throw missingThing(missing)
  return data
}

type BacktestInput = { from: string; to: string; data?: DataInput }

async function runBacktest(inTurn: StatementTurn, turns: BacktestTurns, environment: Environment, id: string, body: BacktestInput) {
  const { from, to } = body
  const length = Date.parse(to) - Date.parse(from)
  if (length <= 0) throw invalidField('to', 'must be later than from')
  if (length > MAX_WINDOW_MS) throw invalidField('to', 'must be at most 366 days after from')
  const data = await inTurn(db => transaction(db, tx => dataOf(tx, environment, id, body.data)))
  // Repeatable read: all pages of the log and the users come from one snapshot.
  const play = async (db: Pool) => {
    await foldPresent(db, environment)
    return transaction(db, tx => backtest(tx, environment, data, { from, to }), undefined, 'repeatable read')
  }
  return turns(environment, () => inTurn(play))
}

export const v4BacktestAutomation = preparedTransaction(
  'v4BacktestAutomation',
  ({ path, body, environment, inTurn, deps }) =>
    runBacktest(inTurn, deps.backtests, environment, path.automation_id, body as BacktestInput),
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
