import { audit } from '../../domain/kernel/audit/record.ts'
import { rotateSecretKey } from '../../domain/projects/keys.ts'
import { transaction } from '../../store/transaction.ts'
import { PROJECT, projectId } from '../arguments.ts'
import { withDatabase } from '../database.ts'
import { action } from '../definition.ts'
import { projectTrail } from './trail.ts'

export const rotateAction = action({
  name: 'rotate',
  summary: 'a new Secret Key for a project',
  arguments: [PROJECT],
  options: { now: { says: 'without the 10 s in which the old key still works' } },
  examples: ['project rotate 1', 'project rotate 1 --now'],
  async run({ args: [given], values: { now } }, context) {
    const { out } = context
    const id = projectId(given)
    const key = await withDatabase(context, (pool, secrets) =>
      transaction(pool, async tx => {
        const made = await rotateSecretKey(tx, secrets, id, { now })
        await audit(tx, projectTrail(context, id, 'rotate'), { resource: 'project', id: String(id) })
        return made
      }),
    )
    out(`Project ${id}`)
    out(`  Secret Key   ${key}`)
    out(`  Sandbox key  test_${key}`)
    out(
      now
        ? 'The old key is refused: for project settings and keys at once, for the rest within 4 s.'
        : 'The old key works for at most 10 s more, and no more for project settings and keys.',
    )
    return 0
  },
})
