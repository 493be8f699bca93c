import type { Automation, AutomationData, AutomationStepCount, AutomationVersionCounts } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'
import { type Range, rangeOf } from '../../data/range.ts'
import { useRead } from '../../data/read.ts'
import { usePreferences } from '../../data/session.ts'
import { useNow } from '../../data/use-now.ts'

/** Counts are of 90 days at most. */
export const PRESETS = ['7d', '30d', '90d'] as const
const DEFAULT = '30d'

const iso = (second: number) => new Date(second * 1000).toISOString().replace('.000', '')

/** The range of the page in whole days; until now where it is a preset, by the clock of the environment. */
export function useRange(): { range: Range; zone: string } | undefined {
  const [search] = useAddress()
  const { zone } = usePreferences()
  const now = useNow()
  if (now === undefined) return undefined
  const { from, to, range = DEFAULT } = search
  return { range: rangeOf({ range, unit: 'day', ...(from && to && { from, to }) }, zone, now), zone }
}

/** How far the runs of the range came, and the call that says so. */
export function useCounts(id: string, range: Range | undefined) {
  const input: Input<'v4GetAutomationStepCounts'> = {
    path: { automation_id: id },
    query: range ? { from: iso(range.from), ...(range.key === 'own' && { to: iso(range.to) }) } : {},
  }
  return { input, read: useRead('v4GetAutomationStepCounts', input, { every: 15_000, when: range !== undefined }) }
}

/** The version that is looked at: the present one, or that of the address. Undefined while a former one is read. */
export function useShown(automation: Automation): { version: number; data: AutomationData | undefined; gone: boolean } {
  const [{ v }] = useAddress()
  const version = v !== undefined && /^[1-9]\d*$/.test(v) ? Number(v) : automation.version
  const isFormer = version !== automation.version
  const { data, isFetched } = useRead(
    'v4ListAutomationVersions',
    { path: { automation_id: automation.id }, query: { limit: 100 } },
    { when: isFormer },
  )
  const former = data?.data.find(one => one.version === version)
  return { version, data: isFormer ? former?.data : automation.data, gone: isFormer && isFetched && former === undefined }
}

const NOBODY: Omit<AutomationVersionCounts, 'version'> = {
  started: 0,
  replays: 0,
  unfinished: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  skipped: {},
  steps: [],
}

/** What is counted for a version; nothing where no run went by it. */
export const countsOf = (data: readonly AutomationVersionCounts[] | undefined, version: number): AutomationVersionCounts | undefined =>
  data && (data.find(one => one.version === version) ?? { version, ...NOBODY })

export const countOfStep = (counts: AutomationVersionCounts | undefined, id: string): AutomationStepCount | undefined =>
  counts?.steps.find(({ step_id }) => step_id === id)
