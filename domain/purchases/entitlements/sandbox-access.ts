import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { Refusal } from '../../kernel/refusal.ts'
import type { ProjectPolicies } from '../../projects/policies.ts'
import { lockUsers } from '../../users/user.ts'
import { type Grant, grantEntitlement } from './grant.ts'

// App Review buys in Apple's sandbox, with the key of production that is in the released app.

export async function sandboxAccessOf(db: Db, project: number): Promise<ProjectPolicies['sandbox_access']> {
  const { rows } = await db.query<{ access: ProjectPolicies['sandbox_access'] }>({
    name: 'sandbox-access',
    text: 'select sandbox_access as access from projects where id = $1',
    values: [project],
  })
  return rows[0]!.access
}

/** A transaction of the sandbox: the store's product, and the end of its period; null: it has none. */
export type SandboxPurchase = { product: string; ends: string | null }
export type SandboxGrant = { entitlement: string; before: Grant | null; after: Grant }

// A repeated request finds the rows of the first request, and gets no further grant.
const NOTE = `
  with noted as (
    insert into sandbox_accesses (environment, user_id, entitlement_id, granted_at)
    select l.environment, $2, l.entitlement_id, t from environment_now($1) t, entitlement_products l
    where l.environment = $1 and l.product_id = linked_product($1, 'app_store', $3, null) and ($4::timestamptz is null or $4 > t)
    on conflict (environment, user_id, entitlement_id) do update set granted_at = excluded.granted_at
      where sandbox_accesses.granted_at <= excluded.granted_at - interval '30 days'
    returning entitlement_id, granted_at)
  select entitlement_id as entitlement, date_trunc('second', least($4::timestamptz, granted_at + interval '24 hours')) as until
  from noted order by 1`

/**
 * Grants the entitlements of the product until the end of the period, at most for 24 hours, and each at most once in 30 days. An active
 * grant stays as it is, and an entitlement that the user has through a purchase is not granted. Returns the granted entitlements.
 */
export async function grantSandboxAccess(
  tx: Tx,
  environment: Environment,
  user: string,
  { product, ends }: SandboxPurchase,
): Promise<SandboxGrant[]> {
  await lockUsers(tx, environment, [user])
  const { rows } = await tx.query<{ entitlement: string; until: string }>(NOTE, [environment, user, product, ends])
  const granted: SandboxGrant[] = []
  for (const { entitlement, until } of rows) {
    const grant = await grantEntitlement(tx, environment, { user, entitlement, expiresAt: until, keepsActive: true }).catch(error => {
      if (error instanceof Refusal && error.code === 'paid_entitlement') return null
      throw error
    })
    if (grant && grant.before !== grant.after) granted.push({ entitlement, ...grant })
  }
  return granted
}
