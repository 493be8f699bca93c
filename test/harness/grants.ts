import { createGrant } from '../../domain/operators/grants/grant.ts'
import { issueTokens } from '../../domain/operators/grants/tokens.ts'
import type { ProjectRole } from '../../domain/operators/roles.ts'
import { SCOPES } from '../../schemas/generated/operations.ts'
import { orderedId } from '../../store/ids.ts'
import { transaction } from '../../store/transaction.ts'
import type { TestApi, TestProjectKeys } from './api.ts'

type Api = Pick<TestApi, 'pool'>

/** An operator with a role in the project; null: without one. */
export async function operatorIn({ pool }: Api, project: TestProjectKeys, role: ProjectRole | null = 'admin'): Promise<string> {
  const id = orderedId('op')
  await pool.query('insert into operators (id, email, name) values ($1, $2, $3)', [id, `${id}@example.org`, 'Test'])
  if (role) await pool.query('insert into operator_roles (operator, project, role) values ($1, $2, $3)', [id, project.id, role])
  return id
}

export type GrantOptions = {
  operator?: string
  role?: ProjectRole
  scopes?: readonly string[]
  sandbox?: boolean
  clientId?: string
  findsTools?: boolean
}

export type TestGrant = { id: string; token: string; refreshToken: string; operator: string }

/** A grant of an operator, with its tokens: all scopes in production unless the test says otherwise. */
export async function newGrant(api: Api, project: TestProjectKeys, options: GrantOptions = {}): Promise<TestGrant> {
  const { role = 'admin', scopes = SCOPES, sandbox = false, clientId = 'client', findsTools = false } = options
  const operator = options.operator ?? (await operatorIn(api, project, role))
  const environment = sandbox ? project.sandboxEnvironment : project.production
  return transaction(api.pool, async tx => {
    const id = await createGrant(tx, { operator, clientId, clientName: 'Assistant', project: project.id, environment, scopes, findsTools })
    const pair = await issueTokens(tx, id, scopes)
    return { id, operator, token: pair!.accessToken, refreshToken: pair!.refreshToken }
  })
}
