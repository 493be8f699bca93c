import { nowOfAutomation } from '../../../domain/automations/automation.ts'
import { countSteps } from '../../../domain/automations/automation-runs/step-counts.ts'
import { type AutomationVersion, listVersions } from '../../../domain/automations/versions.ts'
import { invalidField } from '../../../domain/kernel/refusal.ts'
import { expensiveRead, onPool } from '../../operation.ts'
import { offsetPage, restartedHeader } from '../../pagination.ts'
import { wholeSeconds } from '../../time.ts'

const DAY_MS = 24 * 3600 * 1000
/** Runs are kept for 90 days after their end. */
const LONGEST_DAYS = 90
const DEFAULT_DAYS = 30
/** The first time that is told. */
const FIRST_MS = 0

export const v4ListAutomationVersions = onPool('v4ListAutomationVersions', async ({ path: { automation_id }, query, environment, db }) => {
  const { limit, starting_after: after } = query
  const { rows, restarted } = await listVersions(db, environment, automation_id, { limit, after })
  const item = ({ version, ...row }: AutomationVersion) => ({ object: 'automation_version' as const, automation_id, version, ...row })
  const list = offsetPage({ url: `/v4/automations/${automation_id}/versions`, rows, limit, item })
  const last = list.data.at(-1)
  return {
    body: list.has_more && last ? { ...list, next_cursor: String(last.version) } : list,
    headers: restartedHeader(restarted),
  }
})

export const v4GetAutomationStepCounts = expensiveRead(
  'v4GetAutomationStepCounts',
  async ({ path: { automation_id }, query, environment, db }) => {
    const now = await nowOfAutomation(db, environment, automation_id)
    const end = query.to === undefined ? Date.parse(now) + 1000 : Date.parse(query.to)
    const begin = query.from === undefined ? Math.max(FIRST_MS, end - DEFAULT_DAYS * DAY_MS) : Date.parse(query.from)
    if (end <= begin) throw invalidField('to', 'must be later than from')
    if (end - begin > LONGEST_DAYS * DAY_MS + 1000) throw invalidField('to', `must be at most ${LONGEST_DAYS} days after from`)
    const [from, to] = [wholeSeconds(begin), wholeSeconds(end)]
    const { countedFrom, versions } = await countSteps(db, environment, automation_id, { from, to, version: query.version })
    return {
      body: {
        object: 'automation_step_counts' as const,
        url: `/v4/automations/${automation_id}/step-counts`,
        from,
        to,
        counted_from: countedFrom ?? from,
        is_complete: countedFrom === null,
        data: versions,
      },
    }
  },
)
