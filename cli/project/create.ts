import { audit } from '../../domain/kernel/audit/record.ts'
import { createProject } from '../../domain/projects/create.ts'
import { transaction } from '../../store/transaction.ts'
import { withDatabase } from '../database.ts'
import { action } from '../definition.ts'
import { UsageError } from '../failure.ts'
import { projectTrail } from './trail.ts'

const MAX_NAME = 200

export const createAction = action({
  name: 'create',
  summary: 'create a project; prints its id and keys',
  options: { name: { value: 'NAME', says: `its name, at most ${MAX_NAME} characters` } },
  examples: ['project create --name "My other app"'],
  async run({ values }, context) {
    const name = values.name?.trim()
    if (!name) throw new UsageError('--name NAME is missing')
    if (name.length > MAX_NAME || /\p{Cc}/u.test(name)) throw new UsageError(`--name must have at most ${MAX_NAME} printable characters`)
    const made = await withDatabase(context, (pool, secrets) =>
      transaction(pool, async tx => {
        const project = await createProject(tx, secrets, { name })
        const trail = projectTrail(context, project.id, 'create')
        await audit(tx, trail, { resource: 'project', id: String(project.id), after: { project_name: name } })
        return project
      }),
    )
    context.out(`Project ${made.id}`)
    context.out(`  Secret Key   ${made.secretKey}`)
    context.out(`  Sandbox key  test_${made.secretKey}`)
    context.out(`  Project Key  ${made.projectKey}`)
    return 0
  },
})
