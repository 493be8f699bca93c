import { createNamedKey, type NewNamedKey } from '../../domain/projects/named-keys.ts'
import { transaction } from '../../store/transaction.ts'
import type { TestApi, TestProjectKeys } from './api.ts'

/** A named key of the project, made beside the API as the command line makes it. */
export async function namedKey(
  { pool }: Pick<TestApi, 'pool'>,
  { production, sandboxEnvironment }: TestProjectKeys,
  scopes: readonly string[],
  { sandbox = false, ...more }: Partial<Omit<NewNamedKey, 'scopes'>> & { sandbox?: boolean } = {},
): Promise<{ key: string; id: string }> {
  const environment = sandbox ? sandboxEnvironment : production
  const kind = sandbox ? 'sandbox' : 'production'
  const { key, row } = await transaction(pool, tx =>
    createNamedKey(
      tx,
      { environment, kind, by: { kind: 'cli', id: 'test' } },
      { name: 'Test', expiresAt: null, allowedAddresses: [], ...more, scopes },
    ),
  )
  return { key, id: row.id }
}
