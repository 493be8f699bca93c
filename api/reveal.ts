import { keepRevealed } from '../domain/operators/grants/reveals.ts'
import { actsForOperator, type Principal } from '../domain/operators/principal.ts'
import type { OperationId } from '../schemas/generated/operations.ts'
import type { Tx } from '../store/connect.ts'
import type { ApiDeps, Reply } from './operation.ts'

/** The operations that make a secret, and the field of their answers that has it. */
const MADE: Partial<Record<OperationId, string>> = {
  v4RegenerateProjectSecret: 'secret_key',
  v4UpdateIntegrationConfig: 'generated_signing_secret',
  v4CreateNotificationChannel: 'generated_signing_secret',
  v4UpdateNotificationChannel: 'generated_signing_secret',
  v4CreateApiKey: 'key',
}

/** Where an operator looks at a secret that was made for them. */
export const REVEAL_HEADER = 'Reveal-Url'

/** What a principal without the Secret Key sees masked in the answer of the operation. */
export const maskedFor = (owner: Principal, id: OperationId, secrets: readonly string[]): readonly string[] => {
  if (owner.kind === 'secret') return []
  const made = MADE[id]
  return actsForOperator(owner) && made !== undefined ? [...secrets, made] : secrets
}

/** Keeps the secret that an operation has made for the operator, whose assistant and whose pages may not see it, in the transaction of the operation. */
export async function withReveals(
  tx: Tx,
  { id, owner, deps }: { id: OperationId; owner: Principal; deps: Pick<ApiDeps, 'secrets' | 'publicUrl'> },
  reply: Reply<OperationId>,
): Promise<Reply<OperationId>> {
  const made = MADE[id]
  const secret = made === undefined ? undefined : (reply.body as Record<string, unknown> | undefined)?.[made]
  if (!actsForOperator(owner) || typeof secret !== 'string') return reply
  const code = await keepRevealed(tx, deps.secrets, owner, secret)
  return { ...reply, headers: { ...reply.headers, [REVEAL_HEADER]: `${deps.publicUrl}/oauth/secrets/${code}` } }
}
