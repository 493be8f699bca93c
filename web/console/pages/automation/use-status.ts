import type { Automation, AutomationStatus } from '../../../../clients/typescript/src/index.ts'
import { useWrite } from '../../data/write.ts'
import { t } from '../../parts/t.ts'
import { say, sayWithUndo } from '../../parts/undo.tsx'

export const CHANGES = {
  changes: ['v4GetAutomation', 'v4ListAutomations', 'v4GetAutomationStepCounts', 'v4ListAutomationRuns', 'v4ListAutomationVersions'],
} as const

const DONE = { active: 'The automation is active', paused: 'The automation is paused', inactive: 'The automation is inactive' } as const

/** Activates or pauses at once, with a way back: a pause holds runs and ends none. What the service refuses is said. */
export function useStatus({ id, status: before }: Automation) {
  const { send, isPending } = useWrite('v4UpdateAutomationStatus', CHANGES)
  const to = (status: AutomationStatus) => send({ path: { automation_id: id }, body: { status } })
  const change = async (status: 'active' | 'paused') => {
    try {
      await to(status)
    } catch (error) {
      say(t('It is not changed: {why}', { why: (error as Error).message }))
      return
    }
    sayWithUndo(t(DONE[status]), () => to(before))
  }
  return { change, isPending }
}
