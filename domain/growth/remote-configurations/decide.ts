import { createHash } from 'node:crypto'
import type { Condition } from '../../audience/segments/condition.ts'
import type { CandidateGroup, Candidates, RunningExperiment, ServedConfiguration } from './candidates.ts'
import type { JsonObject } from './lock.ts'

type SourceType = 'remote_configuration' | 'experiment_control_group' | 'experiment_treatment_group'
type PayloadSource = { uid: string; name: string; assignment_type: 'auto' | 'manual'; type: SourceType }
type ExperimentGroup = {
  uid: string
  name: string
  group: { uid: string; name: string | null; type: 'control' | 'treatment'; offering: CandidateGroup['offering'] }
}
/** The payload that a user is served for one context key. `isPinned`: a request has pinned the user to the experiment. */
export type Decision = { payload: JsonObject; source: PayloadSource | null; experiment: ExperimentGroup | null; isPinned: boolean }
type Payload = Pick<Decision, 'payload' | 'source'>
export type NewAssignment = { experiment: string; group: string }

/** Whether the user meets the conditions; reads the profile only when there are conditions. */
type Meets = (conditions: Condition[]) => Promise<boolean>

const fromConfiguration = (
  { id, name, payload }: ServedConfiguration,
  assignment_type: PayloadSource['assignment_type'],
  type: SourceType,
): Payload => ({
  payload,
  source: { uid: id, name, assignment_type, type },
})

const NOTHING: Payload = { payload: {}, source: null }

/**
 * Decides what the user is served for one context key. Adds the assignments that must be recorded to `taken`. Assignments in `taken` count
 * already: an experiment that only accepts users who are in no other experiment sees the assignments of the same request.
 */
export async function decide(user: string, key: string, found: Candidates, taken: NewAssignment[], meets: Meets): Promise<Decision> {
  const pin = found.pins.filter(p => p.key === key).sort((a, b) => b.at - a.at)[0]
  if (pin?.configuration)
    return { ...fromConfiguration(pin.configuration, 'manual', 'remote_configuration'), experiment: null, isPinned: false }
  const running = found.experiments.filter(experiment => experiment.key === key)
  const chosen = currentGroup(running, found, pin?.experiment ?? null) ?? (await newGroup(user, running, found, taken, meets))
  if (!chosen) return { ...(await fromTargeting(user, key, found, meets)), experiment: null, isPinned: false }
  const { experiment, group, pinned } = chosen
  const type = group.is_control ? 'control' : 'treatment'
  const payload = group.configuration
    ? fromConfiguration(group.configuration, pinned ? 'manual' : 'auto', `experiment_${type}_group`)
    : await fromTargeting(user, key, found, meets)
  const { id: uid, name, offering } = group
  return { ...payload, experiment: { uid: experiment.id, name: experiment.name, group: { uid, name, type, offering } }, isPinned: pinned }
}

type Chosen = { experiment: RunningExperiment; group: CandidateGroup; pinned: boolean }

/** The user's group in the pinned experiment when that runs, else in the running experiment with the oldest assignment. */
function currentGroup(running: RunningExperiment[], { assignments }: Candidates, pinned: string | null): Chosen | null {
  const all = assignments.flatMap((assignment): Chosen[] => {
    const experiment = running.find(({ id }) => id === assignment.experiment)
    const group = experiment?.groups.find(({ id }) => id === assignment.group)
    return experiment && group ? [{ experiment, group, pinned: assignment.pinned }] : []
  })
  return all.find(({ experiment }) => experiment.id === pinned) ?? all[0] ?? null
}

/** Assigns the user to a group of the first running experiment that accepts the user. */
async function newGroup(
  user: string,
  running: RunningExperiment[],
  found: Candidates,
  taken: NewAssignment[],
  meets: Meets,
): Promise<Chosen | null> {
  for (const experiment of running) {
    const { id, status, percent, is_context_specific, conditions, groups } = experiment
    if (status !== 'active') continue
    if (!is_context_specific && [...found.assignments, ...taken].some(other => other.experiment !== id)) continue
    if (!isWithin('traffic', id, user, percent ?? 100) || !(await meets(conditions))) continue
    const group = chooseGroup(id, user, groups)
    if (!group) continue
    taken.push({ experiment: id, group: group.id })
    return { experiment, group, pinned: false }
  }
  return null
}

/** The payload of the first active configuration whose percentage and conditions include the user. */
async function fromTargeting(user: string, key: string, { configurations }: Candidates, meets: Meets): Promise<Payload> {
  for (const configuration of configurations) {
    const { id, percent, conditions } = configuration
    if (configuration.key === key && isWithin('config', id, user, percent) && (await meets(conditions)))
      return fromConfiguration(configuration, 'auto', 'remote_configuration')
  }
  return NOTHING
}

/**
 * A number in [0, 1) that depends on ids alone: the first 6 bytes of SHA-256 of `what:id:user`, big-endian, divided by 2^48. So all processes
 * decide alike, and a higher percentage keeps all users who are included already.
 */
export const chance = (what: 'traffic' | 'group' | 'config', id: string, user: string): number =>
  createHash('sha256').update(`${what}:${id}:${user}`).digest().readUIntBE(0, 6) / 2 ** 48

export const isWithin = (what: 'traffic' | 'config', id: string, user: string, percent: number): boolean =>
  100 * chance(what, id, user) < percent

/** The first group, in order of creation, whose cumulative weight is above the user's share of the sum of all weights. */
export function chooseGroup<G extends { weight: number }>(experiment: string, user: string, groups: readonly G[]): G | undefined {
  const x = chance('group', experiment, user) * groups.reduce((sum, group) => sum + group.weight, 0)
  let cumulative = 0
  return groups.find(({ weight }) => {
    cumulative += weight
    return cumulative > x
  })
}
