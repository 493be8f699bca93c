import type { Condition } from '../segments/condition.ts'
import { chooseGroup, isWithin } from './assignment.ts'
import type { CandidateGroup, Candidates, Payload, Running } from './candidates.ts'
import type { JsonObject } from './lock.ts'

type SourceType = 'remote_configuration' | 'experiment_control_group' | 'experiment_treatment_group'
export type Source = { uid: string; name: string; assignment_type: 'auto' | 'manual'; type: SourceType }
export type InExperiment = {
  uid: string
  name: string
  group: { uid: string; name: string | null; type: 'control' | 'treatment'; offering: CandidateGroup['offering'] }
}
export type Served = { payload: JsonObject; source: Source | null; experiment: InExperiment | null }
export type NewAssignment = { experiment: string; group: string }

/** Whether the user meets conditions; asks for the profile only when there are any. */
type Meets = (conditions: Condition[]) => Promise<boolean>

const configured = (
  { id, name, payload }: Payload,
  assignment_type: Source['assignment_type'],
  type: SourceType,
): Omit<Served, 'experiment'> => ({
  payload,
  source: { uid: id, name, assignment_type, type },
})

const NOTHING: Omit<Served, 'experiment'> = { payload: {}, source: null }

/**
 * What the user is served for one context key. `taken` grows by the assignments that are to be recorded, and counts them already: an
 * experiment that wants users who are in no other sees those that this very request has taken.
 */
export async function decide(user: string, key: string, found: Candidates, taken: NewAssignment[], meets: Meets): Promise<Served> {
  const pin = found.pins.filter(p => p.key === key).sort((a, b) => b.at - a.at)[0]
  if (pin?.configuration) return { ...configured(pin.configuration, 'manual', 'remote_configuration'), experiment: null }
  const running = found.experiments.filter(experiment => experiment.key === key)
  const chosen = assigned(running, found, pin?.experiment ?? null) ?? (await newcomer(user, running, found, taken, meets))
  if (!chosen) return { ...(await targeted(user, key, found, meets)), experiment: null }
  const { experiment, group, pinned } = chosen
  const type = group.is_control ? 'control' : 'treatment'
  const payload = group.configuration
    ? configured(group.configuration, pinned ? 'manual' : 'auto', `experiment_${type}_group`)
    : await targeted(user, key, found, meets)
  const { id: uid, name, offering } = group
  return { ...payload, experiment: { uid: experiment.id, name: experiment.name, group: { uid, name, type, offering } } }
}

type Chosen = { experiment: Running; group: CandidateGroup; pinned: boolean }

/** The pinned experiment when it runs, else the one in which the user has been longest. */
function assigned(running: Running[], { assignments }: Candidates, pinned: string | null): Chosen | null {
  const all = assignments.flatMap((assignment): Chosen[] => {
    const experiment = running.find(({ id }) => id === assignment.experiment)
    const group = experiment?.groups.find(({ id }) => id === assignment.group)
    return experiment && group ? [{ experiment, group, pinned: assignment.pinned }] : []
  })
  return all.find(({ experiment }) => experiment.id === pinned) ?? all[0] ?? null
}

async function newcomer(user: string, running: Running[], found: Candidates, taken: NewAssignment[], meets: Meets): Promise<Chosen | null> {
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

async function targeted(user: string, key: string, { configurations }: Candidates, meets: Meets): Promise<Omit<Served, 'experiment'>> {
  for (const configuration of configurations) {
    const { id, percent, conditions } = configuration
    if (configuration.key === key && isWithin('config', id, user, percent) && (await meets(conditions)))
      return configured(configuration, 'auto', 'remote_configuration')
  }
  return NOTHING
}
