import { newNamedKey } from '../../domain/projects/named-key-form.ts'
import { hashKey } from '../../domain/projects/secrets.ts'
import { SCOPES } from '../../schemas/generated/operations.ts'
import type { Pool } from '../../store/connect.ts'
import { opaqueToken, orderedId } from '../../store/ids.ts'
import type { Tenant } from '../product.ts'

/** `keys`: named keys; `tokens`: access tokens, each of a grant of its own. All of one project's production, with all scopes. */
export type Callers = { keys: string[]; tokens: string[] }

/** A grant makes 120 calls a minute, so a load needs many of them. There are as many named keys, which cost the same. */
export async function seedCallers(pool: Pool, { environment }: Tenant, count: number): Promise<Callers> {
  const { rows } = await pool.query<{ project: number }>('select project from environments where id = $1', [environment])
  const project = rows[0]!.project
  const keys = Array.from({ length: count }, () => newNamedKey('production'))
  await pool.query(
    `insert into api_keys (environment, id, name, scopes, hash, last_four, created_by_kind, created_at)
     select $1, id, 'Bench', $2, hash, '', 'cli', now() from unnest($3::text[], $4::bytea[]) k (id, hash)`,
    [environment, SCOPES, keys.map(() => orderedId('key')), keys.map(hashKey)],
  )
  const operator = orderedId('opr')
  await pool.query('insert into operators (id, email, name) values ($1, $2, $3)', [operator, 'bench@example.org', 'Bench'])
  await pool.query(`insert into operator_roles (operator, project, role) values ($1, $2, 'admin')`, [operator, project])
  const tokens = Array.from({ length: count }, () => opaqueToken('pna'))
  await pool.query(
    `with given as (select * from unnest($1::text[], $2::bytea[]) g (id, hash)), granted as (
       insert into mcp_grants (id, operator, client_id, client_name, project, environment, scopes)
       select id, $3, 'bench', 'Bench', $4, $5, $6 from given returning id)
     insert into mcp_tokens (hash, grant_id, kind, scopes, expires_at)
     select hash, id, 'access', $6, clock_timestamp() + interval '1 day' from granted join given using (id)`,
    [tokens.map(() => orderedId('gra')), tokens.map(hashKey), operator, project, environment, SCOPES],
  )
  await pool.query('analyze api_keys, mcp_grants, mcp_tokens')
  return { keys, tokens }
}
