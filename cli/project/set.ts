import { audit } from '../../domain/kernel/audit/record.ts'
import { type PolicyName, PROJECT_POLICIES, type ProjectPolicies, setPolicies } from '../../domain/projects/policies.ts'
import { transaction } from '../../store/transaction.ts'
import { PROJECT, projectId } from '../arguments.ts'
import { withDatabase } from '../database.ts'
import { action } from '../definition.ts'
import { UsageError } from '../failure.ts'
import { oneOf } from '../phrases.ts'
import { projectTrail } from './trail.ts'

const policy = (name: PolicyName, says: string) => ({ value: PROJECT_POLICIES[name].join('|'), choices: PROJECT_POLICIES[name], says })

const OPTIONS = {
  'transfer-policy': policy('transfer_policy', 'what becomes of a purchase that another user claims'),
  'sandbox-access': policy(
    'sandbox_access',
    "whether a production user gets access for a day from a purchase of Apple's sandbox (App Review)",
  ),
  'refund-preference': policy('refund_preference', 'what Apple is told when a customer asks for a refund; none: nothing'),
}
type PolicyOption = keyof typeof OPTIONS
const OPTION_NAMES = Object.keys(OPTIONS) as PolicyOption[]

function policiesIn(values: Record<PolicyOption, string | undefined>): Partial<ProjectPolicies> {
  const given = OPTION_NAMES.flatMap(option => {
    const value = values[option]
    const known: readonly string[] = OPTIONS[option].choices
    if (value !== undefined && !known.includes(value)) throw new UsageError(`--${option} ${oneOf(known)}?`)
    return value === undefined ? [] : [[option.replace('-', '_'), value]]
  })
  if (given.length === 0) throw new UsageError(`project set PROJECT: ${oneOf(OPTION_NAMES.map(option => `--${option}`))}?`)
  return Object.fromEntries(given)
}

export const setAction = action({
  name: 'set',
  summary: 'set policies of a project about purchases',
  arguments: [PROJECT],
  options: OPTIONS,
  examples: ['project set 1 --transfer-policy share', 'project set 1 --sandbox-access refuse --refund-preference decline'],
  async run({ args: [given], values }, context) {
    const id = projectId(given)
    const policies = policiesIn(values)
    await withDatabase(context, pool =>
      transaction(pool, async tx => {
        const before = await setPolicies(tx, id, policies)
        const changed = Object.keys(before) as PolicyName[]
        if (changed.length === 0) return
        const after = Object.fromEntries(changed.map(name => [name, policies[name]]))
        await audit(tx, projectTrail(context, id, 'set'), { resource: 'project', id: String(id), before, after })
      }),
    )
    for (const [name, value] of Object.entries(policies)) {
      const words = name.replaceAll('_', ' ')
      context.out(`${words[0]!.toUpperCase()}${words.slice(1)} of project ${id} is ${value}.`)
    }
    return 0
  },
})
